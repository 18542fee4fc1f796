"""What Podman's own health checks say of services that no gate and no watch look at.

Fact, measured with Podman 5.4.2 and 5.8.6: `podman container inspect` prints the containers that it found
and fails for the others. A check is run by a timer of the user manager, and where that stands still, the
container stays at `starting` for ever, without a word in its log.
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
        failing: How many failed in a row.
        output: The last line that the last check printed.
        ended: When the last check ended, in seconds since 1970.
        interval: Seconds between two checks, 0 where Podman does not tell.
    """

    status: str
    checks: int = 0
    failing: int = 0
    output: str = ""
    ended: float | None = None
    interval: float = 0

    def unchecked(self, seconds: float) -> bool:
        """Whether none has run, although the container runs for so long."""
        return not self.checks and bool(self.interval) and seconds > _LATE * self.interval

    def words(self, now: float, began: float | None) -> str:
        """What it rests on, in one line."""
        if not self.checks:
            waited = now - began if began is not None else 0.0
            due = f", and one every {span(self.interval)} is due" if self.unchecked(waited) else ""
            return f"no health check has run for {span(waited)}{due}"
        ago = f", {span(max(0.0, now - self.ended))} ago" if self.ended is not None else ""
        if not self.failing:
            return f"Podman's health check was passed{ago}"
        many = f"{self.failing} in a row" if self.failing > 1 else "the last one"
        return f"Podman's health check failed, {many}{ago}" + (f": {self.output}" if self.output else "")


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
        failing=int(health.get("FailingStreak", 0)),
        output=lines[-1].strip() if lines else "",
        ended=datetime.fromisoformat(last["End"]).timestamp() if last else None,
        interval=row["Config"]["Healthcheck"]["Interval"] / 1e9,
    )
