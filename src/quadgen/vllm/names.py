"""Names that vLLM looks up only after its parser let them through, release by release.

The rows are data made by `scripts/vllm-names` from vLLM's own sources.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from quadgen.vllm.catalog import RELEASES

NameKind: TypeAlias = Literal[
    "attention-backend",
    "mla-prefill-backend",
    "mamba-backend",
    "kv-cache-kind",
    "reasoning-parser",
    "tool-call-parser",
    "quantization",
    "quantization-deprecated",
    "quantization-key",
    "quantization-capability",
    "quantization-shorthand",
    "load-format",
    "kv-connector",
]

# A name is known from the first release on, up to and without the second.
_Spans: TypeAlias = list[tuple[str, str | None]]


@cache
def known(kind: NameKind, release: str) -> tuple[str, ...]:
    """Every name of a kind that a release knows, sorted.

    Args:
        kind: What the names stand for.
        release: One of `catalog.RELEASES`.
    """
    return tuple(name for name, spans in _read()[kind].items() if _inside(spans, release))


def releases_of(kind: NameKind, name: str) -> tuple[str, ...]:
    """The releases that know a name; empty for what none of them ever knew."""
    spans = _read()[kind].get(name, [])
    return tuple(release for release in RELEASES if _inside(spans, release))


def _inside(spans: _Spans, release: str) -> bool:
    at = RELEASES.index(release)
    return any(
        RELEASES.index(since) <= at and (until is None or at < RELEASES.index(until))
        for since, until in spans
    )


@cache
def _read() -> dict[str, dict[str, _Spans]]:
    path = Path(__file__).parent / "data" / "names.json"
    data: dict[str, dict[str, _Spans]] = json.loads(path.read_text(encoding="utf-8"))
    return data
