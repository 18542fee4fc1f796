"""Names that vLLM looks up late, release by release."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from quadgen.vllm import names
from quadgen.vllm.releases import VERSIONS

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "src" / "quadgen" / "vllm" / "data" / "names.json"


@pytest.mark.vllm
def test_the_data_is_what_the_sources_of_every_release_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from vllmdump import source  # noqa: PLC0415 - found only once scripts/ is on the path

    sources = ROOT / ".test-host" / "vllm-src"
    for version in VERSIONS.values():
        source.fetch(version, sources)
    made = tmp_path / "names.json"
    subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "vllm-names"), str(sources), str(made)], check=True
    )
    assert made.read_text(encoding="utf-8") == DATA.read_text(encoding="utf-8")


def test_a_name_has_the_releases_that_know_it() -> None:
    assert "qwen3" in names.known("reasoning-parser", "0.20")
    assert "minimax" not in names.known("tool-call-parser", "0.24")
    assert names.releases_of("quantization", "gguf")[-1] == "0.23"
    assert names.releases_of("load-format", "no-such") == ()
