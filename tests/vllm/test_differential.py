"""quadgen and the real parsers agree, over random option tables.

The parser of each release runs in a process of its own, with the Python files that `scripts/catalog`
downloads and the environment that `scripts/test-host vllm` makes; on a new machine both happen on the first
run. The large run is `scripts/differential`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from quadgen.vllm.releases import VERSIONS

ROOT = Path(__file__).resolve().parents[2]
TABLES = 300


@pytest.mark.vllm
@pytest.mark.parametrize("version", VERSIONS.values())
def test_quadgen_and_the_real_parser_agree(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from vllmdiff.run import compare  # noqa: PLC0415 - found only once scripts/ is on the path

    tally = compare(version, count=TABLES, seed=7, sources=ROOT / ".test-host" / "vllm-src")
    assert tally.wrong == []
    assert tally.parser_accepted >= 0.4 * TABLES


def test_the_tables_are_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import random  # noqa: PLC0415 - beside the next line, which needs it

    from quadgen.vllm.catalog import load  # noqa: PLC0415
    from vllmdiff.tables import Tables  # noqa: PLC0415

    first, second = (
        Tables(
            load("0.33"),
            random.Random(5),  # noqa: S311 - the same tables for the same seed
        )
        for _ in range(2)
    )
    assert [first.table() for _ in range(20)] == [second.table() for _ in range(20)]
    assert "vllmdiff" in sys.modules
