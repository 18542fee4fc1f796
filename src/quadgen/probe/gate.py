"""The gate: holds a start in `ExecStartPost=` until the model answers.

systemd does not end an `ExecStartPost=` whose main process has died: the start would succeed when the gate
returns (measured). So the gate itself watches $MAINPID. It extends systemd's timeout only while it sees
progress, so a gate that hangs is ended by systemd like anything else.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from quadgen.probe.clock import span
from quadgen.probe.notify import extend, status
from quadgen.probe.phases import STARTED, PhaseTimes, PhaseTracker
from quadgen.probe.progress import Traffic, moved
from quadgen.probe.readiness import Readiness, Stage, Step
from quadgen.probe.reasons import Reason, diagnose, patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quadgen.probe.client import Answer
    from quadgen.probe.clock import Clock
    from quadgen.probe.journal import Journal
    from quadgen.probe.notify import Notifier
    from quadgen.probe.probefile import ProbeFile
    from quadgen.probe.progress import TrafficMeter
    from quadgen.probe.server import ModelServer
    from quadgen.probe.waiting import Exchange, Waiter

_TICK = 1.0
_TRAFFIC_EVERY = 10.0
_EXTEND_EVERY = 10.0
# What systemd waits for a gate that has gone silent.
_EXTENSION = 60.0
_LOG_LINES = 400
# No line at all in this time: the journal cannot be read. vLLM's first line comes within 10 s.
_NO_LOG = 45.0
# How long the log is followed after the container's end, while conmon still cleans up.
_LAST_WORDS = 0.05


class Tools(NamedTuple):
    """What the gate works with; every one of them has a double in `doubles`.

    Args:
        server: What it asks.
        exchange: What asks while the gate waits for other things as well.
        waiter: What it waits with; knows the main process and the stop signal.
        journal: The log of this start.
        meter: Bytes that move.
        clock: The time.
        notifier: The service manager.
        say: Prints one line into the journal.
        first: Pidfd of the container's first process, which ends some 0.1 s before conmon.
    """

    server: ModelServer
    exchange: Exchange
    waiter: Waiter
    journal: Journal
    meter: TrafficMeter
    clock: Clock
    notifier: Notifier
    say: Callable[[str], None]
    first: int | None = None


class Outcome(NamedTuple):
    """How a start ended.

    Args:
        reason: Why it failed; None where the model serves.
        died: Whether the main process is gone, so that nothing is left to end.
        stopped: Whether systemd ended the start.
        seconds: How long it took.
        phases: Seconds spent in each phase.
        note: What people should know of a start that went well.
    """

    reason: Reason | None = None
    died: bool = False
    stopped: bool = False
    seconds: float = 0.0
    phases: Mapping[str, float] = MappingProxyType({})
    note: str = ""


class Gate:
    """One start.

    Args:
        file: The service.
        tools: What it works with.
    """

    def __init__(self, file: ProbeFile, tools: Tools) -> None:
        self._file = file
        self._tools = tools
        self._tracker = PhaseTracker()
        self._readiness = Readiness(file)
        self._stage: Stage = "health"
        self._asking = False
        self._note = ""
        self._log: list[str] = []
        self._log_fd: int | None = None
        self._log_until = math.inf
        self._said_no_log = False
        self._moving = ""
        self._shown = ""
        self._begun = self._ask_at = self._progress_at = tools.clock.monotonic()
        self._traffic_at = self._extend_at = self._tick_at = self._begun
        self._traffic: Traffic | None = None
        self._times = PhaseTimes(self._tracker.phase.name, self._begun)

    def run(self) -> Outcome:
        """Wait until the model serves, or cannot."""
        self._follow_log()
        patterns()
        self._tools.waiter.add(self._tools.exchange.fileno(), "answer")
        if self._tools.first is not None:
            self._tools.waiter.add(self._tools.first, "ending")
        try:
            outcome: Outcome | None = None
            while outcome is None:
                outcome = self._turn()
            return outcome
        finally:
            self._tools.journal.close()

    def _turn(self) -> Outcome | None:
        if self._now() >= self._log_until:
            self._end_log()
        self._look_around()
        if not self._asking and self._now() >= self._ask_at:
            self._ask()
        events = self._tools.waiter.wait(self._until_next())
        if "log" in events:
            self._read_log()
        if "ending" in events:
            self._ending()
        if "died" in events:
            return self._died()
        if "stop" in events:
            return self._outcome(Reason(kind="stopped", what="stopped while loading"), stopped=True)
        if "answer" in events and (answer := self._tools.exchange.take()) is not None:
            return self._answered(answer)
        return self._over_budget()

    def _until_next(self) -> float:
        next_at = min(self._tick_at, self._log_until)
        if not self._asking:
            next_at = min(next_at, self._ask_at)
        return max(0.0, next_at - self._now())

    def _ask(self) -> None:
        server, left = self._tools.server, self._begun + self._file.budgets.startup_timeout - self._now()
        self._asking = True
        if self._stage == "health":
            self._tools.exchange.ask(lambda: server.health(2.0))
        elif self._stage == "models":
            self._tools.exchange.ask(lambda: server.models(10.0))
        else:
            deadline = max(1.0, min(self._file.budgets.stall_timeout, left))
            self._tools.exchange.ask(lambda: server.work(deadline))

    def _answered(self, answer: Answer) -> Outcome | None:
        self._asking = False
        names = self._tools.server.names(answer) if self._stage == "models" else None
        step = self._readiness.after(
            self._stage, answer, names=names, now=self._now(), started=self._tracker.phase.name == STARTED
        )
        return self._follow(step)

    def _follow(self, step: Step) -> Outcome | None:
        self._note = step.note or self._note
        if step.failure is not None:
            return self._outcome(step.failure)
        if step.stage == "ready":
            return self._serving()
        if step.stage == "work" and self._stage != "work":
            self._progress("warm-up", "warming up")
        self._stage = step.stage
        self._ask_at = self._now() + step.after
        return None

    # The log.

    def _follow_log(self) -> None:
        self._log_fd = self._tools.journal.fileno()
        if self._log_fd is not None:
            self._tools.waiter.add(self._log_fd, "log")

    def _ending(self) -> None:
        """The container has ended and conmon has not: the last words, and nothing to wait for after it."""
        if self._tools.first is not None:
            self._tools.waiter.remove(self._tools.first)
        self._log_until = self._now() + _LAST_WORDS

    def _end_log(self) -> None:
        self._log_until = math.inf
        self._forget_log()
        self._tools.journal.close()

    def _forget_log(self) -> None:
        if self._log_fd is not None:
            self._tools.waiter.remove(self._log_fd)
            self._log_fd = None

    def _read_log(self) -> None:
        lines = self._tools.journal.read()
        if self._tools.journal.fileno() is None:
            self._forget_log()
        for line in lines:
            self._log.append(line.text)
            before = self._tracker.phase
            if not self._tracker.feed(line.text):
                continue
            phase = self._tracker.phase
            self._progress(phase.name, phase.label if phase is not before else "")
        del self._log[:-_LOG_LINES]

    # Progress and budgets.

    def _progress(self, phase: str, label: str) -> None:
        now = self._now()
        self._progress_at = now
        if label:
            self._times.enter(phase, now)
            self._tools.say(f"{label}, after {span(now - self._begun)}")

    def _look_around(self) -> None:
        now = self._now()
        if now < self._tick_at:
            return
        self._tick_at = now + _TICK
        if self._traffic is None or now - self._traffic_at >= _TRAFFIC_EVERY:
            self._measure(now)
        if now >= self._extend_at and now - self._progress_at < self._file.budgets.stall_timeout:
            self._extend_at = now + _EXTEND_EVERY
            self._tools.notifier.send(extend(_EXTENSION))
        self._tell_missing_log(now)
        self._show()

    def _measure(self, now: float) -> None:
        traffic = self._tools.meter.measure()
        if self._traffic is not None:
            self._moving = moved(self._traffic, traffic, now - self._traffic_at)
        self._traffic, self._traffic_at = traffic, now
        if self._moving:
            self._progress_at = now

    def _tell_missing_log(self, now: float) -> None:
        if not self._log and not self._said_no_log and now - self._begun >= _NO_LOG:
            self._said_no_log = True
            self._tools.say("the journal shows no line of this start; going on by HTTP alone")

    def _show(self) -> None:
        text = self._where()
        if text != self._shown:
            self._shown = text
            self._tools.notifier.send(status(text))

    def _where(self) -> str:
        label = "warming up" if self._stage == "work" else self._tracker.label
        parts = [label, self._moving, span(self._now() - self._begun)]
        return ", ".join(part for part in parts if part)

    def _over_budget(self) -> Outcome | None:
        now, budgets = self._now(), self._file.budgets
        if now - self._begun >= budgets.startup_timeout:
            return self._outcome(_timeout("startup-timeout", budgets.startup_timeout, self._where()))
        if now - self._progress_at >= budgets.stall_timeout:
            return self._outcome(_timeout("stall-timeout", budgets.stall_timeout, self._where()))
        return None

    # The end.

    def _serving(self) -> Outcome:
        names = ", ".join(self._file.server.names) or self._file.service
        seconds = self._now() - self._begun
        self._tools.notifier.send(status(f"serving {names}" + (f"; {self._note}" if self._note else "")))
        self._tools.say(f"serving {names}, after {span(seconds)}" + (f"; {self._note}" if self._note else ""))
        return self._outcome(None)

    def _died(self) -> Outcome:
        reason = diagnose(self._log, self._file)
        if reason is None:
            reason = Reason(kind="died", what=f"the container ended while {self._where()}")
        return self._outcome(reason, died=True)

    def _outcome(self, reason: Reason | None, *, died: bool = False, stopped: bool = False) -> Outcome:
        now = self._now()
        return Outcome(
            reason=reason,
            died=died,
            stopped=stopped,
            seconds=round(now - self._begun, 1),
            phases=self._times.until(now),
            note=self._note,
        )

    def _now(self) -> float:
        return self._tools.clock.monotonic()


def _timeout(budget: str, seconds: float, where: str) -> Reason:
    return Reason(
        kind=budget,
        what=f"{budget} of {span(seconds)} has passed; last seen: {where}",
        remedy=f"see the log; if it was still at work, raise {budget} in [service.NAME.probe]",
    )
