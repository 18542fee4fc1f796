"""The few Prometheus series that a verdict needs, read exactly.

Text format: names, labels with escaped values, a value that may be NaN or Inf, perhaps a timestamp. Only
wanted series are parsed; a server of many labels sends thousands of others.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|(?=\}))')
_ESCAPE = re.compile(r"\\(.)")

Sample: TypeAlias = tuple[str, dict[str, str], float]

_RUNNING, _WAITING = "vllm:num_requests_running", "vllm:num_requests_waiting"
_SLEEP = "vllm:engine_sleep_state"
# Each moves when the engine has made a step, and only then. Requests that ended are not among them: a
# client that hangs up ends one, engine or not.
_MOVING = (
    "vllm:prompt_tokens_total",
    "vllm:generation_tokens_total",
    "vllm:iteration_tokens_total_count",
    "vllm:kv_cache_usage_perc",
    "vllm:num_preemptions_total",
)
_WANTED = frozenset((_RUNNING, _WAITING, _SLEEP, *_MOVING))


class Counters(NamedTuple):
    """What one look at /metrics told.

    Args:
        running: Requests in work, over all engines.
        waiting: Requests in the queue, over all engines.
        tokens: Prompt and generated tokens since the server began.
        asleep: Whether every engine sleeps.
        moving: Figures that differ between two looks where the engine has worked.
    """

    running: float
    waiting: float
    tokens: float
    asleep: bool
    moving: tuple[float, ...]

    @property
    def requests(self) -> float:
        """Requests that the server owes an answer."""
        return self.running + self.waiting

    def words(self) -> str:
        """The figures, for evidence."""
        return f"{self.running:g} running, {self.waiting:g} waiting, {self.tokens:.0f} tokens"


def counters(text: str) -> Counters | None:
    """Read the figures; None where the server has none (`--disable-log-stats`)."""
    sums: dict[str, float] = {}
    awake: list[float] = []
    for name, labels, value in samples(text, _WANTED):
        if name == _SLEEP:
            if labels.get("sleep_state") == "awake":
                awake.append(value)
        elif not math.isnan(value):
            sums[name] = sums.get(name, 0.0) + value
    if not any(name in sums for name in _MOVING[:2]):
        return None
    return Counters(
        running=sums.get(_RUNNING, 0.0),
        waiting=sums.get(_WAITING, 0.0),
        tokens=sums.get(_MOVING[0], 0.0) + sums.get(_MOVING[1], 0.0),
        asleep=bool(awake) and not any(awake),
        moving=tuple(sums.get(name, 0.0) for name in _MOVING),
    )


def samples(text: str, wanted: Collection[str]) -> Iterator[Sample]:
    """Every sample of the wanted names; lines that are none are passed over."""
    for line in text.split("\n"):
        name = _NAME.match(line)
        if name is None or name[0] not in wanted:
            continue
        labels, end = _labels(line, name.end())
        words = line[end:].split()
        if words and (value := _value(words[0])) is not None:
            yield name[0], labels, value


def _labels(line: str, start: int) -> tuple[dict[str, str], int]:
    labels: dict[str, str] = {}
    if not line.startswith("{", start):
        return labels, start
    position = start + 1
    while (match := _LABEL.match(line, position)) is not None:
        labels[match[1]] = _ESCAPE.sub(lambda m: "\n" if m[1] == "n" else m[1], match[2])
        position = match.end()
    end = line.find("}", position)
    return labels, len(line) if end < 0 else end + 1


def _value(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
