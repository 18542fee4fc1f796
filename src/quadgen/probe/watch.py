"""The watch: judges a running model at every interval, and ends the container of one that is dead or hung.

It restarts nothing. systemd sees the container end and does the rest, with the unit's own delay, growth and
limit. Its own crash or end does not touch the model.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from quadgen.probe.journal import tail
from quadgen.probe.look import Looker
from quadgen.probe.notify import status
from quadgen.probe.waiting import process_fd

if TYPE_CHECKING:
    from collections.abc import Callable

    from quadgen.probe.client import Answer
    from quadgen.probe.clock import Clock
    from quadgen.probe.notify import Notifier
    from quadgen.probe.probefile import ProbeFile
    from quadgen.probe.process import Container, Runner, Systemd
    from quadgen.probe.server import ModelServer
    from quadgen.probe.state import ServiceState
    from quadgen.probe.verdict import Verdict
    from quadgen.probe.waiting import Exchange, Question, Waiter

_LOG_LINES = 20
# An unchanged verdict is written again this often, so that a reader sees that the watch lives.
_WRITE_EVERY = 60.0


class Tools(NamedTuple):
    """What the watch works with; every one of them has a double in `doubles`.

    Args:
        server: Makes a server to ask, anew for each run of the unit.
        exchange: Asks the looks' questions.
        worker: Asks the one-token requests, which may hang.
        waiter: What it waits with; knows the stop signal and both exchanges.
        systemd: Who knows the unit.
        container: What is ended.
        runner: Runs journalctl.
        state: Where verdicts are written down.
        clock: The time.
        notifier: The service manager.
        say: Prints one line into the journal.
        open_process: A pidfd of a process, or None if it has ended.
        close_process: Gives it back.
        ping_every: Seconds between two WATCHDOG messages.
    """

    server: Callable[[], ModelServer]
    exchange: Exchange
    worker: Exchange
    waiter: Waiter
    systemd: Systemd
    container: Container
    runner: Runner
    state: ServiceState
    clock: Clock
    notifier: Notifier
    say: Callable[[str], None]
    open_process: Callable[[int], int | None] = process_fd
    close_process: Callable[[int], None] = os.close
    ping_every: float = 10.0


class _Stopped(Exception):  # noqa: N818 - it is no error
    """The watch was told to end."""


class Watch:
    """Watches one service until it is stopped.

    Args:
        file: The service.
        tools: What it works with.
    """

    def __init__(self, file: ProbeFile, tools: Tools) -> None:
        self._file = file
        self._tools = tools
        self._looker = Looker(file, tools.server(), tools.clock)
        self._invocation = ""
        self._process: int | None = None
        self._working = False
        self._pinged = float("-inf")
        self._written = float("-inf")
        self._facts: dict[str, Any] = {"verdicts": [], "kills": []} | tools.state.watch()

    def run(self) -> None:
        """Watch until stopped."""
        self._tools.notifier.send("READY=1")
        try:
            while True:
                self._turn()
                self._wait(self._file.budgets.interval)
        except _Stopped:
            self._tools.notifier.send("STOPPING=1")

    def _turn(self) -> None:
        if self._process is None and not self._attach():
            return
        verdict = self._looker.look(self._ask, unit=self._unit_if_bad())
        if self._process is None:
            # It ended meanwhile, which has been told.
            return
        self._tell(verdict)
        if verdict.fatal:
            self._end(verdict)
        elif self._looker.wants_work() and not self._working:
            self._working = True
            self._tools.worker.ask(self._looker.begin_work())

    def _attach(self) -> bool:
        """Find the main process of the unit's present run."""
        unit = self._tools.systemd.state(self._file.unit)
        process = (
            self._tools.open_process(unit.main_pid) if unit.main_pid and unit.active == "active" else None
        )
        if process is None:
            self._tools.notifier.send(status(f"waiting: {self._file.unit} is {unit.active or 'not known'}"))
            return False
        self._invocation, self._process = unit.invocation, process
        self._tools.container.main_pid = unit.main_pid
        self._tools.waiter.add(process, "died")
        self._looker = Looker(self._file, self._tools.server(), self._tools.clock)
        return True

    def _detach(self) -> None:
        if self._process is not None:
            self._tools.waiter.remove(self._process)
            self._tools.close_process(self._process)
            self._process = None
            self._tell(self._looker.look(self._ask, alive=False))

    def _unit_if_bad(self) -> str:
        """ActiveState, asked only after a look that was not good: a process for every look is too dear."""
        if self._looker.verdict.state in {"degraded", "hung", "dead"}:
            return self._tools.systemd.state(self._file.unit).active
        return ""

    # Waiting and asking.

    def _wait(self, seconds: float) -> None:
        until = self._tools.clock.monotonic() + seconds
        while (left := until - self._tools.clock.monotonic()) > 0:
            self._events(left)

    def _ask(self, question: Question) -> Answer:
        self._tools.exchange.ask(question)
        while True:
            self._events(self._tools.ping_every)
            answer = self._tools.exchange.take()
            if answer is not None:
                return answer

    def _events(self, seconds: float) -> None:
        self._ping()
        events = self._tools.waiter.wait(min(seconds, self._tools.ping_every))
        if "stop" in events:
            raise _Stopped
        if "work" in events and (answer := self._tools.worker.take()) is not None:
            self._working = False
            self._looker.end_work(answer)
        if "died" in events:
            self._detach()

    def _ping(self) -> None:
        now = self._tools.clock.monotonic()
        if now - self._pinged >= self._tools.ping_every / 2:
            self._pinged = now
            self._tools.notifier.send("WATCHDOG=1")

    # Telling.

    def _tell(self, verdict: Verdict) -> None:
        now = self._tools.clock.time()
        text = f"{verdict.state}: {verdict.evidence}"
        self._tools.notifier.send(status(text))
        changed = (
            verdict.state != self._facts.get("state") or self._facts.get("invocation") != self._invocation
        )
        if changed:
            self._tools.say(text)
            row = {"at": round(now, 1), "state": verdict.state, "evidence": verdict.evidence}
            self._facts["verdicts"] = [*self._facts["verdicts"], row]
            self._facts["since"] = round(now, 1)
        if changed or now - self._written >= _WRITE_EVERY:
            self._written = now
            self._facts |= {
                "state": verdict.state,
                "evidence": verdict.evidence,
                "looked": round(now, 1),
                "invocation": self._invocation,
            }
            self._tools.state.record_watch(self._facts)

    # Ending.

    def _end(self, verdict: Verdict) -> None:
        unit = self._tools.systemd.state(self._file.unit)
        if unit.active != "active" or unit.invocation != self._invocation:
            self._tools.say(f"left alone: {self._file.unit} is {unit.active or 'not known'}")
            return
        # Before the end: the unit's ExecStopPost= reads it for the reason.
        self._record_end(verdict)
        self._snapshot(verdict)
        self._tools.say(f"{self._file.container}: {self._tools.container.kill()}")

    def _record_end(self, verdict: Verdict) -> None:
        row = {
            "at": round(self._tools.clock.time(), 1),
            "state": verdict.state,
            "evidence": verdict.evidence,
            "invocation": self._invocation,
        }
        others = [kill for kill in self._facts["kills"] if kill.get("invocation") != self._invocation]
        self._facts["kills"] = [*others, row]
        self._tools.state.record_watch(self._facts)

    def _snapshot(self, verdict: Verdict) -> None:
        self._tools.say(f"ending the container, {verdict.state}: {verdict.evidence}")
        if self._looker.last_metrics:
            self._tools.say(f"last metrics: {self._looker.last_metrics}")
        for line in tail(self._tools.runner, self._invocation, _LOG_LINES, self._file.log_identifiers)():
            self._tools.say(f"| {line.text}")
