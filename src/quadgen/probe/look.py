"""One look at a running server: asks level by level, cheapest first, and remembers what spans looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from quadgen.probe.metrics import Counters, counters
from quadgen.probe.server import HEALTH, METRICS, MODELS
from quadgen.probe.verdict import Observation, Verdict, Work, answered, judge

if TYPE_CHECKING:
    from collections.abc import Callable

    from quadgen.probe.client import Answer
    from quadgen.probe.clock import Clock
    from quadgen.probe.probefile import ProbeFile
    from quadgen.probe.server import ModelServer, Names
    from quadgen.probe.waiting import Question

Ask: TypeAlias = "Callable[[Question], Answer]"

_DEADLINE = 5.0
_LONGEST_DEADLINE = 30.0
# Names do not change while a server runs; LoRA modules do.
_NAMES_EVERY = 10


class Looker:
    """Looks at one server, again and again.

    Args:
        file: The service.
        server: What it asks.
        clock: The time.
    """

    def __init__(self, file: ProbeFile, server: ModelServer, clock: Clock) -> None:
        self._budgets = file.budgets
        self._server = server
        self._clock = clock
        self._before: Counters | None = None
        self._models: Answer | None = None
        self._names: Names | None = None
        self._looks = 0
        self._bad_looks = 0
        self._still_since = self._silent_since = self._bad_since = clock.monotonic()
        self._work: Work = "none"
        self._work_detail = ""
        self._work_refused = False
        self.verdict = Verdict(state="unknown", evidence="not looked yet")
        self.last_metrics = ""
        self.answers: dict[str, Answer] = {}

    def look(self, ask: Ask, *, alive: bool | None = True, unit: str = "") -> Verdict:
        """Look once.

        Args:
            ask: What puts a question to the server and waits for the answer.
            alive: Whether the main process lives; None where it is not known.
            unit: ActiveState of its unit, where it was asked.
        """
        if alive is False or unit == "deactivating":
            return self._judged(Observation(alive=alive, unit=unit))
        deadline = self._deadline()
        self.answers = {}
        health = self.answers[HEALTH] = ask(lambda: self._server.health(deadline))
        self._count(health)
        if health.kind == "ok" and self._wants_names():
            self._models = self.answers[MODELS] = ask(lambda: self._server.models(self._deadline()))
            self._names = self._server.names(self._models)
        figures, moved = None, False
        if health.kind in {"ok", "timeout"}:
            self.answers[METRICS] = ask(lambda: self._server.metrics(self._deadline()))
            figures, moved = self._figures(self.answers[METRICS])
        self._looks += 1
        now = self._clock.monotonic()
        seen = Observation(
            alive=alive,
            unit=unit,
            health=health,
            models=self._models,
            names=self._names,
            counters=figures,
            moved=moved,
            work=self._work,
            work_detail=self._work_detail,
            still_for=now - self._still_since,
            silent_for=now - self._silent_since,
            bad_looks=self._bad_looks,
            bad_for=now - self._bad_since,
        )
        return self._judged(seen)

    def wants_work(self) -> bool:
        """Whether a one-token request should be sent: under suspicion, or idle for long."""
        if not self._server.works or self._work == "under-way" or self._work_refused:
            return False
        if self.verdict.state in {"asleep", "draining", "dead", "hung", "unknown"}:
            return False
        return self.verdict.suspicious or self._still_for() >= self._budgets.hang_timeout / 2

    def begin_work(self) -> Question:
        """The one-token request, with a deadline that leaves no hang unseen for longer than it may."""
        self._work = "under-way"
        deadline = max(1.0, self._budgets.hang_timeout / 2)
        return lambda: self._server.work(deadline)

    def end_work(self, answer: Answer) -> None:
        """Take the answer of the one-token request."""
        self._work_detail = answer.words()
        if answer.kind == "ok":
            self._work = "ok"
            self._still_since = self._silent_since = self._clock.monotonic()
        elif answer.kind == "timeout":
            self._work = "stuck"
        elif answered(answer) and answer.status < 500:
            # Asking again would tell nothing more.
            self._work, self._work_refused = "refused", True
        else:
            self._work = "failed"

    def _judged(self, seen: Observation) -> Verdict:
        self.verdict = judge(seen, self._budgets)
        return self.verdict

    def _deadline(self) -> float:
        """Seconds for one answer: patient under suspicion, so that slow is told from silent.

        A look asks twice in silence, so no question takes more than half of what is left of the timeout.
        """
        usual = min(_DEADLINE, max(1.0, self._budgets.hang_timeout / 4))
        if not (self.verdict.suspicious or self.verdict.state == "busy"):
            return usual
        left = self._silent_since + self._budgets.hang_timeout - self._clock.monotonic()
        return max(usual, min(_LONGEST_DEADLINE, left / 2))

    def _wants_names(self) -> bool:
        good = self._names is not None and not self._names.missing
        return not good or self._looks % _NAMES_EVERY == 0

    def _count(self, health: Answer) -> None:
        now = self._clock.monotonic()
        if answered(health):
            self._silent_since = now
        if health.kind == "ok":
            self._bad_looks = 0
            return
        if not self._bad_looks:
            self._bad_since = now
        self._bad_looks += 1

    def _figures(self, answer: Answer) -> tuple[Counters | None, bool]:
        if answer.kind != "ok":
            return None, False
        now = self._clock.monotonic()
        self._silent_since = now
        figures = counters(answer.body.decode("utf-8", "replace"))
        if figures is None:
            return None, False
        moved = self._before is not None and figures.moving != self._before.moving
        self._before = figures
        self.last_metrics = figures.words()
        if moved:
            self._still_since = now
            if self._work == "stuck":
                self._work = "none"
        return figures, moved

    def _still_for(self) -> float:
        return self._clock.monotonic() - self._still_since
