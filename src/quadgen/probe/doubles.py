"""Doubles of everything that the probe touches, shipped with it: an hour of loading is tested in no time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quadgen.probe.client import Answer
from quadgen.probe.journal import Line
from quadgen.probe.process import Completed
from quadgen.probe.progress import Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quadgen.probe.waiting import Event, Question


@dataclass
class FakeClock:
    """A clock that moves when it is told to."""

    now: float = 1000.0

    def monotonic(self) -> float:
        """The time that was set."""
        return self.now

    def time(self) -> float:
        """The time that was set, some fifty years on."""
        return 1_700_000_000.0 + self.now


@dataclass
class FakeWaiter:
    """Waits by moving a clock on to the next thing that was planned.

    Args:
        clock: The clock to move.
    """

    clock: FakeClock
    planned: list[tuple[float, Event, Callable[[], None] | None]] = field(default_factory=list)

    def at(self, seconds: float, event: Event, then: Callable[[], None] | None = None) -> None:
        """Plan an event `seconds` from now; `then` is called as it happens."""
        self.planned.append((self.clock.now + seconds, event, then))
        self.planned.sort(key=lambda row: row[0])

    def wait(self, seconds: float) -> frozenset[Event]:
        """Move on to the next event, or by `seconds`."""
        until = self.clock.now + seconds
        if not self.planned or self.planned[0][0] > until:
            self.clock.now = until
            return frozenset()
        at, event, then = self.planned.pop(0)
        self.clock.now = max(self.clock.now, at)
        if then is not None:
            then()
        return frozenset({event})

    def add(self, fd: int, event: Event) -> None:
        """Planned events need no descriptor."""

    def remove(self, fd: int) -> None:
        """Planned events need no descriptor."""


@dataclass
class FakeExchange:
    """Asks at once, and lets the answer arrive after the seconds that it says it took.

    Args:
        waiter: Where the answer arrives.
        event: As what.
    """

    waiter: FakeWaiter
    event: Event = "answer"
    answers: deque[Answer] = field(default_factory=deque)

    def fileno(self) -> int:
        """No descriptor of anything."""
        return -1

    def ask(self, question: Question) -> None:
        """Ask it."""
        answer = question()
        self.waiter.at(answer.seconds, self.event, lambda: self.answers.append(answer))

    def take(self) -> Answer | None:
        """The answer, if it has arrived."""
        return self.answers.popleft() if self.answers else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a fake client was asked."""

    method: str
    path: str
    body: bytes | None = None
    key: str | None = None
    deadline: float = 0.0


@dataclass
class FakeClient:
    """A client whose answers a function makes from each request; it keeps the requests.

    A request that takes longer than its deadline becomes a timeout, as with the real one.
    """

    answer: Callable[[Request], Answer]
    requests: list[Request] = field(default_factory=list)

    def ask(
        self, method: str, path: str, *, deadline: float, body: bytes | None = None, key: str | None = None
    ) -> Answer:
        """Answer one request."""
        request = Request(method=method, path=path, body=body, key=key, deadline=deadline)
        self.requests.append(request)
        answer = self.answer(request)
        if answer.seconds > deadline:
            return Answer(kind="timeout", detail="timed out", seconds=deadline)
        return answer


@dataclass
class FakeJournal:
    """A log that is written line by line."""

    readable: bool = True
    lines: list[Line] = field(default_factory=list)
    closed: bool = False

    def write(self, *texts: str) -> None:
        """Write lines."""
        self.lines += [Line(text=text) for text in texts]

    def fileno(self) -> int | None:
        """A descriptor of nothing, or None where the journal cannot be read."""
        return -2 if self.readable else None

    def read(self) -> list[Line]:
        """What has been written since the last call."""
        lines, self.lines = self.lines, []
        return lines

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


@dataclass
class FakeNotifier:
    """Keeps what was sent."""

    sent: list[str] = field(default_factory=list)

    def send(self, message: str) -> None:
        """Keep it."""
        self.sent.append(message)

    @property
    def statuses(self) -> list[str]:
        """The status lines, in order."""
        return [m.split("=", 1)[1].split("\n")[0] for m in self.sent if m.startswith("STATUS=")]


@dataclass
class FakeRunner:
    """Answers command lines by their beginning; the longest that fits counts.

    Args:
        answers: What each beginning gives; a list gives its items in turn, the last for ever.
    """

    answers: dict[str, Completed | list[Completed]] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)

    def start(self, argv: Sequence[str], *, timeout: float) -> Callable[[], Completed]:
        """Answer one command line later."""
        answer = self.run(argv, timeout=timeout)
        return lambda: answer

    def run(self, argv: Sequence[str], *, timeout: float) -> Completed:  # noqa: ARG002 - nothing takes time
        """Answer one command line; one that is not known is not installed."""
        line = " ".join(argv)
        self.ran.append(line)
        fitting = [start for start in self.answers if line.startswith(start)]
        if not fitting:
            return Completed(status=127, stderr=f"{argv[0]}: not installed")
        answer = self.answers[max(fitting, key=len)]
        if isinstance(answer, list):
            return answer.pop(0) if len(answer) > 1 else answer[0]
        return answer

    def count(self, start: str) -> int:
        """How many command lines began so."""
        return sum(line.startswith(start) for line in self.ran)


@dataclass
class FakeMeter:
    """Says that what a function says has moved."""

    traffic: Callable[[], Traffic] = Traffic

    def measure(self) -> Traffic:
        """Bytes so far."""
        return self.traffic()
