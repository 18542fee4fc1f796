"""Where a loading server is, read from its log.

vLLM's lines have kept their wording from 0.20 to 0.33 (compared release by release). Each row is a phase in
the order of a start; a server that skips phases, as one without a GPU or with warm caches does, is fine.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Phase(NamedTuple):
    """One phase of a start.

    Args:
        name: Its key in the state file.
        label: What the status line says.
        pattern: What its first line, or any of its lines, holds.
    """

    name: str
    label: str
    pattern: re.Pattern[str]


def _row(name: str, label: str, pattern: str) -> Phase:
    return Phase(name=name, label=label, pattern=re.compile(pattern))


PHASES: tuple[Phase, ...] = (
    _row("container", "starting the server", r"\A(?!)"),
    _row("arguments", "arguments accepted", r"non-default args:"),
    _row("config", "reading the model's config", r"Resolved architecture:|Using max model len"),
    _row("engine", "starting the engine", r"Initializing a V1 LLM engine"),
    _row("model", "opening the model", r"Starting to load model"),
    _row("fetched", "weights fetched", r"Time spent downloading weights"),
    _row(
        "weights",
        "loading weights",
        r"Loading \S+ checkpoint shards|Multi-thread loading \S*\s?shards|Loading safetensors using",
    ),
    _row("loaded", "weights loaded", r"Loading weights took|Model loading took"),
    _row(
        "compile",
        "compiling",
        r"for vLLM's torch\.compile|Dynamo bytecode transform time|Compiling a graph for"
        r"|Directly load (?:AOT|the)|torch\.compile took",
    ),
    _row("cache", "sizing the KV cache", r"Available KV cache memory|KV cache size:|Maximum concurrency for"),
    _row("kernels", "warming up kernels", r"DeepGEMM warmup|Compiling CuTeDSL kernels|JIT kernel warmup"),
    _row("graphs", "capturing CUDA graphs", r"Capturing .*CUDA graphs|Graph capturing finished"),
    _row("initialised", "engine ready", r"init engine \(profile"),
    _row("server", "starting the HTTP server", r"Starting vLLM server on|Waiting for application startup"),
    _row("answering", "answering", r"Application startup complete"),
)

STARTED = PHASES[-1].name

# tqdm, with and without vLLM's own word in it: `42% Completed | 8/19 [...` and `42%|####  | 8/19 [...`.
_BAR = re.compile(r"(?P<percent>\d{1,3})%\s*(?:Completed\s*)?\|(?:[^|]*\|)?\s*(?P<done>\d+)/(?P<total>\d+)")


class PhaseTracker:
    """Follows the phases of one start."""

    def __init__(self) -> None:
        self._index = 0
        self._bar = ""
        self._seen: set[tuple[str, str]] = set()

    @property
    def phase(self) -> Phase:
        """The furthest phase seen."""
        return PHASES[self._index]

    @property
    def label(self) -> str:
        """The phase for people, with the progress bar's figures: `loading weights 42 % (8/19)`."""
        return f"{self.phase.label} {self._bar}" if self._bar else self.phase.label

    def feed(self, text: str) -> bool:
        """Take one line of the log; the answer is whether it shows progress.

        A phase never goes back: workers write at their own pace, and a drafter loads after its target. A
        bar counts as progress where it shows what it has not shown before, so a download that starts over
        and over does not.
        """
        index = next((i for i, row in enumerate(PHASES) if row.pattern.search(text)), None)
        bar = _BAR.search(text)
        if index is None and bar is None:
            return False
        new = bar is not None and self._is_new(text[: bar.start()], bar[0])
        moved = index is not None and index > self._index
        if moved and index is not None:
            self._index, self._bar = index, ""
        if bar is not None and (index is None or index == self._index):
            self._bar = f"{bar['percent']} % ({bar['done']}/{bar['total']})"
        return moved or new

    def _is_new(self, title: str, figures: str) -> bool:
        shown = (title.strip()[-60:], figures)
        if shown in self._seen:
            return False
        self._seen.add(shown)
        return True


class PhaseTimes:
    """How long each phase of a start took.

    Args:
        name: The phase that begins now.
        now: A clock that never goes back, in seconds.
    """

    def __init__(self, name: str, now: float) -> None:
        self._name = name
        self._since = now
        self._seconds: dict[str, float] = {}

    def enter(self, name: str, now: float) -> None:
        """Begin another phase; the time so far belongs to the one before."""
        if name != self._name:
            self._seconds = self.until(now)
            self._name, self._since = name, now

    def until(self, now: float) -> dict[str, float]:
        """Seconds by phase, the present one included, in the order in which they came."""
        spent = self._seconds.get(self._name, 0.0) + now - self._since
        return self._seconds | {self._name: round(spent, 1)}
