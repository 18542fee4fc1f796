"""From the first refused connection to serving: what to ask next, and what an answer means while loading.

While a server loads, every failure to connect means "not yet": the port refuses, or Podman's forwarder
accepts and resets. What a server must not do for long is to answer wrongly: another server may hold the
port for the seconds that vLLM needs to find out, so a wrong answer must stand for a while, unless the log
has said that this server is up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from quadgen.probe.client import ANSWERED
from quadgen.probe.reasons import Reason

if TYPE_CHECKING:
    from quadgen.probe.client import Answer
    from quadgen.probe.probefile import ProbeFile
    from quadgen.probe.server import Names

Stage: TypeAlias = Literal["health", "models", "work", "ready"]

# How long a wrong answer must stand. vLLM binds its port within 10 s of its start and dies if it is taken.
_SETTLED = 15.0
_SOON = 0.15
_WRONG_AGAIN = 1.0


class Step(NamedTuple):
    """What to do after an answer.

    Args:
        stage: What to ask next; `ready` ends the start well.
        after: Seconds to wait before asking.
        failure: Why the start has failed; ends it.
        note: What people should know although the start goes on.
    """

    stage: Stage
    after: float = 0.0
    failure: Reason | None = None
    note: str = ""


class Readiness:
    """Judges the answers of one start, in turn.

    Args:
        file: The service.
    """

    def __init__(self, file: ProbeFile) -> None:
        self._file = file
        self._wrong_since: float | None = None

    def after(self, stage: Stage, answer: Answer, *, names: Names | None, now: float, started: bool) -> Step:
        """What follows from an answer.

        Args:
            stage: What was asked.
            answer: What came.
            names: The names in it, for `models`.
            now: A clock that never goes back, in seconds.
            started: Whether the log says that the server is up.
        """
        if stage == "health":
            return self._health(answer, now, started=started)
        if stage == "models":
            return self._models(answer, names, now, started=started)
        return self._work(answer)

    def _health(self, answer: Answer, now: float, *, started: bool) -> Step:
        if answer.kind == "ok":
            return Step(stage="models")
        if answer.kind in {"timeout", "unavailable"}:
            return Step(stage="health", after=_SOON)
        reached = answer.kind in ANSWERED or answer.kind == "not-http"
        if not reached and not started:
            self._wrong_since = None
            return Step(stage="health", after=_SOON)
        return self._wrong(_wrong_health(answer, self._file), now, sure=reached and started)

    def _models(self, answer: Answer, names: Names | None, now: float, *, started: bool) -> Step:
        if answer.kind == "unauthorized":
            return Step(
                stage="ready",
                note="the key differs (HTTP 401): the server is alive, its names were not checked",
            )
        if answer.kind == "ok" and names is not None and not names.missing:
            self._wrong_since = None
            return Step(stage="ready" if self._file.server.warmup == "none" else "work")
        if answer.kind not in {"ok", "not-found"}:
            return Step(stage="health", after=_SOON)
        return self._wrong(_wrong_models(answer, names), now, sure=started)

    def _work(self, answer: Answer) -> Step:
        if answer.kind == "ok":
            return Step(stage="ready")
        if answer.kind == "unauthorized":
            return Step(stage="ready", note="the key differs (HTTP 401): the warm-up was not run")
        if answer.kind in ANSWERED and answer.status < 500:
            return Step(stage="ready", note=f"the warm-up was refused ({answer.words()}): {_message(answer)}")
        reason = Reason(
            kind="warm-up",
            what=f"the server is up, but its warm-up got {answer.words()}",
            remedy="see the log; `warmup` in [service.NAME.probe] names the request",
            line=_message(answer),
        )
        return Step(stage="work", failure=reason)

    def _wrong(self, reason: Reason, now: float, *, sure: bool) -> Step:
        if self._wrong_since is None:
            self._wrong_since = now
        failure = reason if sure or now - self._wrong_since >= _SETTLED else None
        return Step(stage="health", after=_WRONG_AGAIN, failure=failure)


def _wrong_health(answer: Answer, file: ProbeFile) -> Reason:
    where = file.server.uds or file.server.url
    if answer.kind == "not-found":
        what = f"{where}{file.server.root_path}/health is 404: not vLLM, or another base path"
        return Reason(
            kind="base-path", what=what, remedy="look at root-path and at what listens there", permanent=True
        )
    if answer.kind == "not-http":
        what = f"{where} answers, but not in HTTP ({answer.detail})"
        return Reason(kind="not-http", what=what, remedy="look at what listens there", permanent=True)
    if answer.kind in ANSWERED:
        what = f"{where}/health answers {answer.words()}"
        return Reason(kind="health-status", what=what, remedy="look at what stands between", permanent=True)
    return Reason(
        kind="address",
        what=f"the log says that the server is up, but {where}: {answer.words()}",
        remedy="compare listen, port, uds and TLS in the spec with the server's own",
        permanent=True,
    )


def _wrong_models(answer: Answer, names: Names | None) -> Reason:
    if answer.kind == "not-found":
        what, remedy = (
            "/health is 200, but /v1/models is 404",
            "look at what listens there: it is no vLLM server",
        )
    elif names is None:
        what, remedy = "/v1/models answers with no list of models", "look at what listens there"
    else:
        listed = ", ".join(names.listed) or "nothing"
        what = f"it serves {listed}, not {', '.join(names.missing)}"
        remedy = "compare served-name with what runs there"
    return Reason(kind="names", what=what, remedy=remedy, permanent=True)


def _message(answer: Answer) -> str:
    table = answer.json()
    error = table.get("error", table) if isinstance(table, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or answer.body[:200].decode("utf-8", "replace"))[:300]
