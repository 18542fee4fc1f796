"""The judgement on a running server, as a pure function of what was observed.

The rule behind all of it: only what cannot be anything else than dead or hung is ended. A slow server with
moving counters is busy; one that refuses the probe's key or has other names than expected is misconfigured
and serves whoever asks rightly. Facts: `/health` and `/v1/models` are 200 while the engine hangs; the gauge
of running requests was seen at 0 during a hang, so an idle gauge alone proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from quadgen.probe.client import ANSWERED
from quadgen.probe.clock import span

if TYPE_CHECKING:
    from quadgen.probe.client import Answer
    from quadgen.probe.metrics import Counters
    from quadgen.probe.probefile import Budgets
    from quadgen.probe.server import Names

State: TypeAlias = Literal[
    "serving",  # it answers
    "busy",  # it answers slowly or queues requests, and tokens move
    "draining",  # systemd is ending it
    "asleep",  # put to sleep on purpose
    "degraded",  # something failed, not often enough to tell
    "hung",  # it owes answers, and nothing moves
    "dead",  # process or engine is gone
    "misconfigured",  # it lives, and differs from what the probe file says
    "unknown",  # nothing could be seen
]
Work: TypeAlias = Literal["none", "under-way", "ok", "stuck", "refused", "failed"]

# An answer of /health is instant; from here on it is slow.
_SLOW = 1.0


class Observation(NamedTuple):
    """All that is known at one look.

    Args:
        alive: Whether the main process lives; None where it is not known.
        unit: ActiveState of the unit, empty where it was not asked.
        health: The answer of `/health`, None where it was not asked.
        models: The answer of `/v1/models`, None where it was not asked at this look.
        names: The names in it.
        counters: Figures of `/metrics`, None where there are none.
        moved: Whether they have moved since the look before.
        work: How the last one-token request fares.
        work_detail: What it was answered, where it was refused or failed.
        still_for: Seconds since a token last moved, or a one-token request last succeeded.
        silent_for: Seconds since any answer at all.
        bad_looks: Looks in a row, this one included, whose `/health` was not answered with 200.
        bad_for: Seconds between the first and the last of them.
    """

    alive: bool | None = True
    unit: str = ""
    health: Answer | None = None
    models: Answer | None = None
    names: Names | None = None
    counters: Counters | None = None
    moved: bool = False
    work: Work = "none"
    work_detail: str = ""
    still_for: float = 0
    silent_for: float = 0
    bad_looks: int = 0
    bad_for: float = 0


class Verdict(NamedTuple):
    """What a look concluded.

    Args:
        state: The conclusion.
        evidence: What it rests on, in one line.
        suspicious: Whether a one-token request would tell more.
    """

    state: State
    evidence: str
    suspicious: bool = False

    @property
    def fatal(self) -> bool:
        """Whether ending the container is right."""
        return self.state in {"dead", "hung"}


def judge(seen: Observation, budgets: Budgets) -> Verdict:
    """The verdict on one observation."""
    if seen.alive is False:
        return Verdict(state="dead", evidence="the main process has ended")
    if seen.unit == "deactivating":
        return Verdict(state="draining", evidence="systemd is stopping the unit")
    if seen.health is None:
        return Verdict(state="unknown", evidence="nothing was asked")
    if seen.unit == "activating" and seen.health.kind != "ok":
        return Verdict(state="unknown", evidence=f"still starting; /health: {seen.health.words()}")
    if seen.health.kind != "ok":
        return _without_health(seen, seen.health, budgets)
    return _engine(seen, budgets)


def _without_health(seen: Observation, health: Answer, budgets: Budgets) -> Verdict:
    said = f"/health: {health.words()}"
    if health.kind == "not-found":
        return Verdict(state="misconfigured", evidence=f"{said}: another server, or another base path")
    if health.kind in {"not-http", "tls", "unauthorized"}:
        return Verdict(state="misconfigured", evidence=said)
    if health.kind == "timeout":
        return _silent(seen, said, budgets)
    if _often_enough(seen, budgets):
        engine = " (vLLM's word for a dead engine)" if health.kind == "unavailable" else ""
        return Verdict(
            state="dead", evidence=f"{said}{engine}, {seen.bad_looks} looks in {span(seen.bad_for)}"
        )
    return Verdict(state="degraded", evidence=f"{said}, look {seen.bad_looks} of {budgets.failures}")


def _silent(seen: Observation, said: str, budgets: Budgets) -> Verdict:
    # Silence is not death: a loaded server may need long. What counts is whether anything moves.
    if seen.moved:
        return Verdict(state="busy", evidence=f"{said}, and tokens move")
    if seen.silent_for >= budgets.hang_timeout and seen.still_for >= budgets.hang_timeout:
        return Verdict(state="hung", evidence=f"{said}, no answer for {span(seen.silent_for)}")
    return Verdict(
        state="degraded", evidence=f"{said}, no answer for {span(seen.silent_for)}", suspicious=True
    )


def _often_enough(seen: Observation, budgets: Budgets) -> bool:
    spread = budgets.interval * max(0, budgets.failures - 1) / 2
    return seen.bad_looks >= budgets.failures and seen.bad_for >= spread


def _engine(seen: Observation, budgets: Budgets) -> Verdict:
    counters = seen.counters
    if counters is not None and counters.asleep:
        return Verdict(state="asleep", evidence="engine_sleep_state says so")
    hung = _hung(seen, budgets)
    if hung is not None:
        return hung
    wrong = _misconfigured(seen)
    if wrong is not None:
        return wrong
    if seen.work == "failed":
        return Verdict(state="degraded", evidence=f"one-token request: {seen.work_detail}", suspicious=True)
    return _alive(seen, counters)


def _hung(seen: Observation, budgets: Budgets) -> Verdict | None:
    owed = seen.counters.requests if seen.counters is not None else 0
    if seen.moved or not (owed or seen.work == "stuck"):
        return None
    what = f"{owed:g} requests" if owed else "a one-token request"
    evidence = f"{what} and no token for {span(seen.still_for)}"
    if seen.still_for >= budgets.hang_timeout:
        return Verdict(state="hung", evidence=evidence)
    if seen.work == "stuck" or seen.still_for >= budgets.hang_timeout / 2:
        return Verdict(state="degraded", evidence=evidence, suspicious=True)
    return None


def _misconfigured(seen: Observation) -> Verdict | None:
    unauthorized = seen.models is not None and seen.models.kind == "unauthorized"
    if unauthorized or (seen.work == "refused" and "401" in seen.work_detail):
        return Verdict(state="misconfigured", evidence="the key differs, the server is alive (HTTP 401)")
    if seen.models is not None and seen.models.kind == "not-found":
        return Verdict(state="misconfigured", evidence="/v1/models: HTTP 404: another base path")
    if seen.names is not None and seen.names.missing:
        listed = ", ".join(seen.names.listed) or "none"
        missing = ", ".join(seen.names.missing)
        return Verdict(state="misconfigured", evidence=f"it serves {listed}, not {missing}")
    return None


def _alive(seen: Observation, counters: Counters | None) -> Verdict:
    slow = seen.health is not None and seen.health.seconds >= _SLOW
    if counters is None:
        proof = {"ok": "one-token request answered", "under-way": "one-token request under way"}
        return Verdict(state="serving", evidence=proof.get(seen.work, "/health is 200, no token counters"))
    if counters.waiting or (slow and seen.moved):
        tail = ", tokens move" if seen.moved else f", no token for {span(seen.still_for)}"
        return Verdict(state="busy", evidence=counters.words() + tail)
    return Verdict(state="serving", evidence=counters.words())


def answered(answer: Answer | None) -> bool:
    """Whether a server spoke at all."""
    return answer is not None and answer.kind in ANSWERED
