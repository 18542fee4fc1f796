"""How a service is, in the probe's words: a pure function of what systemd says and what the probe wrote down.

systemd knows best whether something runs, the watch whether it serves; the record of the last start tells
why something does not run. What nobody looked at is not called serving.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from quadgen.probe.clock import span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quadgen.deploy.health import Health
    from quadgen.deploy.live import LiveUnit
    from quadgen.probe.verdict import State as Verdict

# What only systemd can tell.
Unit: TypeAlias = Literal[
    "loading",  # it starts
    "restarting",  # it failed, and systemd waits before the next start
    "running",  # it is up, and no probe looks at it
    "failed",
    "stopped",
    "masked",
    "not-loaded",  # its file is there, and systemd has not read it, or refuses it
    "removed",  # its file is gone
]
State: TypeAlias = "Verdict | Unit"

# A service in one of these does what it should.
GOOD: frozenset[str] = frozenset({"serving", "busy", "asleep", "running"})

# The watch writes at least once a minute, and one look at a slow server may take as long again and more.
_SILENT_AFTER = 180.0

# What a service does before its checks or its gate have said anything.
_BEFORE_STATUS = {
    "dead": "waiting for other units",
    "start-pre": "checking what it needs",
    "start": "starting the container",
    "start-post": "loading",
}
# What Podman's own word for a container's health means here.
_OF_HEALTH: dict[str, State] = {"healthy": "serving", "unhealthy": "degraded", "starting": "loading"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that a condition rests on.

    Args:
        unit: What systemd says; None where it does not answer.
        installed: Whether its unit file is there.
        probed: Whether gate and watch look at it.
        starts: The record of its starts, oldest first.
        watch: What its watch wrote last.
        watcher: What its watch tells systemd, after every look; it writes only what is new.
        health: What Podman's own check says, where it is that which looks.
        now: Seconds since 1970.
    """

    unit: LiveUnit | None
    installed: bool = True
    probed: bool = True
    starts: Sequence[Mapping[str, Any]] = ()
    watch: Mapping[str, Any]
    watcher: str = ""
    health: Health | None = None
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How a service is.

    Args:
        state: In one word.
        evidence: What that rests on, or why it is so, in one line; may be empty.
        since: When it began, in seconds since 1970; None where unknown.
        limited: Whether the start limit refused the last automatic start.
    """

    state: State
    evidence: str = ""
    since: float | None = None
    limited: bool = False

    @property
    def good(self) -> bool:
        """Whether the service does what it should."""
        return self.state in GOOD


def condition(seen: Seen) -> Condition:
    """How the service is."""
    unit = seen.unit
    if unit is None:
        return Condition(state="unknown", evidence=_last_seen(seen))
    if not unit.running and not seen.installed:
        return Condition(state="removed", evidence=_last_reason(seen), since=_ended(seen))
    if not unit.running and unit.load != "loaded":
        return _not_loaded(unit)
    by_state = {
        "activating": _starting,
        "deactivating": _ending,
        "failed": _failed,
        "inactive": _stopped,
    }
    return by_state.get(unit.active, _active)(seen, unit)


def _not_loaded(unit: LiveUnit) -> Condition:
    if unit.load == "masked":
        return Condition(state="masked", evidence="it is masked, so it cannot start")
    what = "systemd has not read" if unit.load == "not-found" else "systemd refuses"
    return Condition(state="not-loaded", evidence=f"{what} its unit file ({unit.load})")


def reason_words(reason: object) -> str:
    """A recorded reason in one line, without its remedy."""
    if not isinstance(reason, dict):
        return ""
    what, line = str(reason.get("what", "")), str(reason.get("line", ""))
    return f"{what}: {line}" if what and line else what or line


def doing(unit: LiveUnit) -> str:
    """What a starting service is at."""
    return (unit.active == "activating" and unit.status) or _BEFORE_STATUS.get(unit.sub, unit.sub)


def age(seconds: float) -> str:
    """How long something has been so; days from two of them on."""
    if seconds < 2 * 86400:
        return span(max(0.0, seconds))
    return f"{int(seconds // 86400)}d{int(seconds % 86400 // 3600):02}h"


def number(row: Mapping[str, Any], key: str) -> float | None:
    """A number of a state file."""
    value = row.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _starting(seen: Seen, unit: LiveUnit) -> Condition:
    if not unit.pausing:
        # With Notify=healthy the unit is not started before the first check that was passed.
        evidence = seen.health.words(seen.now, unit.began) if seen.health else doing(unit)
        return Condition(state="loading", evidence=evidence, since=unit.began)
    last = _last_reason(seen)
    return Condition(
        state="restarting", evidence="; ".join(filter(None, (next_start(unit), last))), since=unit.changed
    )


def next_start(unit: LiveUnit) -> str:
    """What systemd does about a service that it will start again, in a few words."""
    # NRestarts counts when a restart begins, and the first start was none.
    attempt = unit.restarts + 2
    told = f"start {attempt} of {unit.burst}" if attempt <= unit.burst else "the next start"
    return f"{told} follows within {unit.delay}" if unit.delay else f"{told} follows"


def _ending(_seen: Seen, unit: LiveUnit) -> Condition:
    return Condition(state="draining", evidence="systemd is stopping it", since=unit.changed)


def _failed(seen: Seen, unit: LiveUnit) -> Condition:
    last = _last_reason(seen)
    limited = _limited(seen, unit)
    if limited:
        limit = f"start limit: {unit.burst} starts within {unit.window}"
        evidence = f"{limit}; last: {last}" if last else limit
    else:
        evidence = last or f"systemd says {unit.result}"
    return Condition(state="failed", evidence=evidence, since=unit.changed, limited=limited)


def _limited(seen: Seen, unit: LiveUnit) -> bool:
    """Whether it was the start limit that ended the attempts.

    Its own result shows only at a start by hand: after automatic restarts that of the last attempt stays
    (systemd 257). But then nothing else ends a unit of Restart=always that nobody stopped.
    """
    if unit.result == "start-limit-hit":
        return True
    reason = _last_start(seen).get("reason")
    permanent = isinstance(reason, dict) and reason.get("permanent") is True
    return unit.restarts > 0 and _last_start(seen).get("outcome") == "failed" and not permanent


def _stopped(seen: Seen, unit: LiveUnit) -> Condition:
    # A unit that never ran since the last boot has no time of change.
    since = unit.changed or _ended(seen)
    return Condition(state="stopped", evidence=_last_reason(seen), since=since)


def _active(seen: Seen, unit: LiveUnit) -> Condition:
    watch = seen.watch
    state, looked = watch.get("state"), number(watch, "looked")
    if watch.get("invocation") == unit.invocation and state and looked is not None:
        evidence = str(watch.get("evidence", ""))
        silent = seen.now - looked
        if seen.watcher.startswith(f"{state}: "):
            evidence = seen.watcher.removeprefix(f"{state}: ")
        elif silent > _SILENT_AFTER:
            last = f"the watch is silent for {age(silent)}; it last saw {state}: {evidence}"
            return Condition(state="unknown", evidence=last, since=looked)
        found = Condition(state=state, evidence=evidence, since=number(watch, "since"))
        # Under load a server goes back and forth between serving and busy: it serves since its start.
        return Condition(state=state, evidence=evidence, since=unit.started) if found.good else found
    if seen.health is not None:
        return _checked(seen.health, seen.now, unit)
    start = _last_start(seen)
    if start.get("invocation") == unit.invocation and start.get("outcome") == "serving":
        took = number(start, "seconds")
        evidence = f"it answered after {span(took)} of loading" if took is not None else "it answered"
        return Condition(state="serving", evidence=evidence, since=unit.started)
    if seen.probed:
        return Condition(
            state="unknown", evidence="it runs, and nothing has looked at it yet", since=unit.started
        )
    return Condition(state="running", evidence="", since=unit.started)


def _checked(health: Health, now: float, unit: LiveUnit) -> Condition:
    state = _OF_HEALTH.get(health.status, "unknown")
    if health.overdue(now, unit.began):
        state = "unknown"
    return Condition(state=state, evidence=health.words(now, unit.began), since=unit.started)


def _last_start(seen: Seen) -> Mapping[str, Any]:
    return seen.starts[-1] if seen.starts else {}


def _last_reason(seen: Seen) -> str:
    start = _last_start(seen)
    if start.get("outcome") != "failed":
        return ""
    return reason_words(start.get("reason")) or str(start.get("exit", ""))


def _ended(seen: Seen) -> float | None:
    return number(_last_start(seen), "ended")


def _last_seen(seen: Seen) -> str:
    """What the state files tell when systemd does not."""
    start, looked = _last_start(seen), number(seen.watch, "looked")
    ended = number(start, "ended")
    if looked is not None and (ended is None or ended < looked):
        return f"{age(seen.now - looked)} ago {seen.watch.get('state')}: {seen.watch.get('evidence', '')}"
    if ended is not None:
        what = _last_reason(seen)
        return f"it ended {age(seen.now - ended)} ago" + (f": {what}" if what else "")
    return "it never started" if not start else str(start.get("outcome", ""))
