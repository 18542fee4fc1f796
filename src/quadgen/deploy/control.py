"""Starting, restarting and stopping services: what `systemctl` does, followed to its end.

systemd does it, one job a unit; here it is asked how far it is. Facts, measured with systemd 257: `Job` is
set from the moment that `--no-block` returns until the unit is active, has failed, or waits for its next
automatic start; `reset-failed` clears the start limit and the count of restarts of units that have not
failed, too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from quadgen.deploy.condition import doing, next_start, number
from quadgen.deploy.live import LiveUnit, live_units
from quadgen.errors import HostError
from quadgen.probe.clock import span
from quadgen.probe.journal import MARK
from quadgen.probe.state import ServiceState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from quadgen.host.run import Runner

Verb: TypeAlias = Literal["start", "restart", "stop"]
Result: TypeAlias = Literal["serving", "stopped", "failed", "under-way"]

# systemctl's call costs 10 ms: often while much happens, seldom in a start of forty minutes.
_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.2, 1.0, 1.1
_LOG_LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where one service is.

    Args:
        service: Its name.
        text: In a few words.
        result: How it ended; None while it goes on.
        seconds: Since it was asked for.
        reason: Why it failed, as the probe recorded it.
        line: The last line of its log, where no reason was recorded.
        next: What systemd does about it now.
        start: The probe's record of this start.
    """

    service: str
    text: str
    result: Result | None = None
    seconds: float = 0.0
    reason: Mapping[str, Any] = field(default_factory=dict)
    line: str = ""
    next: str = ""
    start: Mapping[str, Any] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Whether what was asked for is so."""
        return self.result in {"serving", "stopped"}

    def to_json(self) -> dict[str, Any]:
        """The end as `--json` prints it."""
        return {
            "service": self.service,
            "result": self.result or "under-way",
            "text": self.text,
            "seconds": round(self.seconds, 1),
            "reason": dict(self.reason) or None,
            "line": self.line,
            "next": self.next,
            "phases": self.start.get("phases", {}),
        }


def commands(verb: Verb, units: Mapping[str, LiveUnit]) -> list[list[str]]:
    """The command lines that do it.

    Args:
        verb: What is asked for.
        units: Unit name to what systemd says of it now.
    """
    if verb == "stop":
        running = [name for name, unit in units.items() if unit.running or unit.job]
        return _lines((("stop", "--no-block"), running))
    # A unit that is up keeps its count. One that waits for its next start would make `start` wait as well.
    down = [name for name, unit in units.items() if verb == "restart" or unit.active != "active"]
    at_once = [name for name, unit in units.items() if verb == "restart" or unit.pausing]
    others = [name for name in units if name not in at_once]
    return _lines(
        (("reset-failed",), down), (("restart", "--no-block"), at_once), (("start", "--no-block"), others)
    )


def _lines(*rows: tuple[tuple[str, ...], list[str]]) -> list[list[str]]:
    return [["systemctl", "--user", *words, "--", *names] for words, names in rows if names]


def order(runner: Runner, verb: Verb, units: Mapping[str, LiveUnit]) -> None:
    """Give systemd the jobs, and do not wait.

    Raises:
        HostError: It refuses.
    """
    for argv in commands(verb, units):
        done = runner.run(argv)
        # A unit that systemd has not loaded has no failure to forget.
        if "reset-failed" not in argv:
            done.check("see `journalctl --user -b -p warning` for the reason")


class Following:
    """Follows the jobs of several services to their ends.

    Args:
        runner: Starts `systemctl` and `journalctl`.
        state: The probe's state folder.
        verb: What was asked for.
        before: Service to its unit, before it was asked for.
        monotonic: Seconds that never go back.
        now: Seconds since 1970.
    """

    def __init__(
        self,
        runner: Runner,
        state: Path,
        verb: Verb,
        before: Mapping[str, LiveUnit],
        *,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._runner = runner
        self._state = state
        self._verb = verb
        self._before = before
        self._monotonic = monotonic
        self._begun = monotonic()
        # Records carry tenths of seconds, rounded.
        self._since = now() - 0.1
        self._pause = _FIRST_PAUSE
        self.progress = {name: Progress(service=name, text="waiting for systemd") for name in before}

    @property
    def done(self) -> bool:
        """Whether all have ended."""
        return all(one.result for one in self.progress.values())

    @property
    def pause(self) -> float:
        """Seconds to wait before the next look, a little longer each time."""
        self._pause = min(_LONGEST_PAUSE, self._pause * _GROWTH)
        return self._pause

    def look(self) -> list[Progress]:
        """Ask once how far they are.

        Raises:
            HostError: The user manager cannot be reached any more.
        """
        waiting = {self._before[name].name: name for name, one in self.progress.items() if not one.result}
        for unit in live_units(self._runner, waiting).values():
            service = waiting[unit.name]
            self.progress[service] = self._progress(service, unit)
        return list(self.progress.values())

    def _progress(self, service: str, unit: LiveUnit) -> Progress:
        seconds = self._monotonic() - self._begun
        if self._verb == "stop":
            return _stopping(service, unit, self._before[service], seconds)
        if self._goes_on(unit, self._before[service]):
            return Progress(service=service, text=_doing(unit, seconds), seconds=seconds)
        if unit.active == "active":
            return self._serving(service, unit, seconds)
        return self._failed(service, unit, seconds)

    def _goes_on(self, unit: LiveUnit, before: LiveUnit) -> bool:
        if unit.pausing:
            # A new run has failed. A job proves nothing here: one may wait for the next automatic start.
            return unit.job and unit.invocation == before.invocation
        if unit.active == "activating":
            # One that failed and is starting again already, between two looks, is told as failed.
            return unit.restarts == 0
        return unit.job or unit.active in {"deactivating", "reloading"}

    def _serving(self, service: str, unit: LiveUnit, seconds: float) -> Progress:
        start = self._record(service, unit)
        told = unit.status if unit.status.startswith("serving") else "started"
        was_up = unit.invocation == self._before[service].invocation
        text = f"{told} already" if was_up else f"{told}, after {span(seconds)}"
        return Progress(service=service, text=text, result="serving", seconds=seconds, start=start)

    def _failed(self, service: str, unit: LiveUnit, seconds: float) -> Progress:
        start = self._record(service, unit)
        failed = start.get("outcome") == "failed"
        reason = start.get("reason") if failed else None
        known = reason if isinstance(reason, dict) else {}
        line = ""
        if start.get("outcome") == "ended":
            # However it took the stop: one that was loading is killed, and so counts as failed for systemd.
            text = "it was stopped meanwhile"
        elif unit.active == "inactive" and not failed:
            text = "systemd did not start it"
        else:
            text = f"failed after {span(seconds)}"
            line = "" if known else self._last_line(service, unit)
        return Progress(
            service=service,
            text=text,
            result="failed",
            seconds=seconds,
            reason=known,
            line=line,
            next=_next(unit, known),
            start=start,
        )

    def _record(self, service: str, unit: LiveUnit) -> Mapping[str, Any]:
        """The probe's record of this start: that of the unit's run, else the first since it was asked for."""
        starts = [
            row
            for row in ServiceState(self._state, service).starts()
            if (number(row, "ended") or number(row, "began") or 0.0) >= self._since
        ]
        failed = [row for row in starts if row.get("outcome") == "failed"]
        mine = [row for row in starts if row.get("invocation") == unit.invocation]
        chosen = mine if unit.active == "active" else failed or mine
        return chosen[0] if chosen else {}

    def _last_line(self, service: str, unit: LiveUnit) -> str:
        """The last line that the container, or Podman, wrote in this run."""
        if not unit.invocation or unit.invocation == self._before[service].invocation:
            return ""
        argv = ["journalctl", "--quiet", "--all", "--output=cat", f"--lines={_LOG_LINES}"]
        # Quadlet's units write under their own name; Podman's events and conmon's warnings have others.
        match = [f"_SYSTEMD_INVOCATION_ID={unit.invocation}", f"SYSLOG_IDENTIFIER={service}"]
        try:
            done = self._runner.run([*argv, *match])
        except HostError:
            return ""
        lines = [line.strip() for line in done.stdout.splitlines()]
        return next((line for line in reversed(lines) if line and not line.startswith(MARK)), "")


def _doing(unit: LiveUnit, seconds: float) -> str:
    if unit.active == "deactivating":
        return f"ending, {span(seconds)}"
    # What the gate says has its own time in it.
    return unit.status if unit.active == "activating" and unit.status else f"{doing(unit)}, {span(seconds)}"


def _stopping(service: str, unit: LiveUnit, before: LiveUnit, seconds: float) -> Progress:
    if unit.job or unit.active == "deactivating":
        return Progress(service=service, text=f"stopping, {span(seconds)}", seconds=seconds)
    if unit.running:
        return Progress(service=service, text="it was started again", result="failed", seconds=seconds)
    text = f"stopped, after {span(seconds)}" if before.running or before.job else "it did not run"
    return Progress(service=service, text=text, result="stopped", seconds=seconds)


def _next(unit: LiveUnit, reason: Mapping[str, Any]) -> str:
    if unit.pausing:
        return f"systemd goes on trying: {next_start(unit)}"
    if unit.active == "activating":
        return f"systemd goes on trying: start {unit.restarts + 1} is under way"
    if reason.get("permanent") is True:
        return "systemd does not try again: a restart cannot help"
    return ""
