"""What Podman's own health checks say of services that no gate and no watch look at.

Fact, measured with Podman 5.4.2: `podman container inspect` prints the containers that it found and fails for
the others. A check is run by a timer of the user manager, and where that stands still, the container keeps
its last health for ever.
"""

from __future__ import annotations

import contextlib
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from quadgen.errors import HostError
from quadgen.probe.clock import span

if TYPE_CHECKING:
    from collections.abc import Collection

    from quadgen.host.run import Runner

# So many checks may be late before their timer counts as standing still.
_LATE = 3


class Health(NamedTuple):
    """One container's health.

    Args:
        status: `starting`, `healthy`, `unhealthy`.
        checks: How many checks Podman remembers, 0 where none has run.
        passed: Whether the last one was.
        failing: How many failed in a row; Podman counts none while a start is given time.
        output: The last line that the last check printed.
        ended: When the last check ended, in seconds since 1970.
        interval: Seconds between two checks, 0 where Podman does not tell.
        timeout: Seconds that one may take.
    """

    status: str
    checks: int = 0
    passed: bool = False
    failing: int = 0
    output: str = ""
    ended: float | None = None
    interval: float = 0
    timeout: float = 0

    def overdue(self, now: float, began: float | None) -> bool:
        """Whether none has run for so long that the timer stands still.

        Args:
            now: Seconds since 1970.
            began: When the unit's start began.
        """
        return self.interval > 0 and self._silent_for(now, began) > _LATE * self.interval + self.timeout

    def words(self, now: float, began: float | None) -> str:
        """What it rests on, in one line."""
        silent = span(self._silent_for(now, began))
        if self.overdue(now, began):
            return f"no health check has run for {silent}, and one is due every {span(self.interval)}"
        if not self.checks:
            return "no health check has run yet"
        ago = f", {silent} ago" if self.ended is not None else ""
        if self.passed:
            return f"Podman's health check was passed{ago}"
        many = f", {self.failing} in a row" if self.failing > 1 else ""
        return f"Podman's health check failed{many}{ago}" + (f": {self.output}" if self.output else "")

    def _silent_for(self, now: float, began: float | None) -> float:
        last = self.ended or began
        return max(0.0, now - last) if last is not None else 0.0


def healths(runner: Runner, names: Collection[str]) -> dict[str, Health]:
    """The health of some containers, by name; one that does not exist or has no check is left out.

    Args:
        runner: Starts `podman`, once, and not at all without names.
        names: The containers.
    """
    if not names:
        return {}
    try:
        text = runner.run(["podman", "container", "inspect", *names]).stdout
    except HostError:
        return {}
    rows: Any = []
    with contextlib.suppress(ValueError):
        rows = json.loads(text)
    found = {}
    for row in rows if isinstance(rows, list) else []:
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            found[str(row["Name"])] = _health(row)
    return found


def _health(row: dict[str, Any]) -> Health:
    health = row["State"]["Health"]
    log = health.get("Log") or []
    last = log[-1] if log else {}
    lines = str(last.get("Output", "")).strip().splitlines()
    return Health(
        status=str(health["Status"]),
        checks=len(log),
        passed=last.get("ExitCode") == 0,
        failing=int(health.get("FailingStreak", 0)),
        output=lines[-1].strip() if lines else "",
        ended=datetime.fromisoformat(last["End"]).timestamp() if last else None,
        interval=row["Config"]["Healthcheck"]["Interval"] / 1e9,
        timeout=row["Config"]["Healthcheck"].get("Timeout", 0) / 1e9,
    )
