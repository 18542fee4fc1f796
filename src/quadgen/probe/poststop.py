"""`ExecStopPost=`: writes down how a run ended, whatever ended it, and ends what cannot get better.

It is the only place that sees failures before the gate (`podman run` exits with 125 or 126) and the exit
status of the main process. A dead vLLM engine exits with 0, so the log decides, not the status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from quadgen.probe.journal import kernel_tail, tail
from quadgen.probe.reasons import Reason, diagnose, patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quadgen.probe.clock import Clock
    from quadgen.probe.journal import Line
    from quadgen.probe.probefile import ProbeFile
    from quadgen.probe.process import Runner, Systemd
    from quadgen.probe.state import ServiceState

_LOG_LINES = 300
_KERNEL_SECONDS = 120
# Exit statuses that the kernel's log may explain: killed for memory, a card that is gone.
_KERNEL_MAY_KNOW = frozenset({1, 134, 135, 137, 139})


class Ending(NamedTuple):
    """What systemd tells an `ExecStopPost=`.

    Args:
        invocation: INVOCATION_ID.
        result: SERVICE_RESULT: `success`, `exit-code`, `signal`, `timeout`, `oom-kill` and others.
        code: EXIT_CODE: `exited`, `killed`, `dumped`; empty where nothing was started.
        status: EXIT_STATUS: a number, or the name of a signal.
    """

    invocation: str
    result: str
    code: str
    status: str

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Ending:
        """Read it from the environment of the process."""
        return cls(
            invocation=environ.get("INVOCATION_ID", ""),
            result=environ.get("SERVICE_RESULT", ""),
            code=environ.get("EXIT_CODE", ""),
            status=environ.get("EXIT_STATUS", ""),
        )

    @property
    def number(self) -> int | None:
        """The exit status as a number, where the process exited."""
        return int(self.status) if self.code == "exited" and self.status.isdigit() else None

    def words(self) -> str:
        """The ending for people: `exit-code (exited 2)`."""
        return f"{self.result} ({self.code} {self.status})" if self.code else self.result


class Recorder:
    """Writes down how runs of one service end.

    Args:
        file: The service.
        state: Where it is written down.
        runner: Runs journalctl.
        systemd: What ends the unit for good.
        clock: The time.
        say: Prints one line into the journal.
    """

    def __init__(
        self,
        file: ProbeFile,
        state: ServiceState,
        *,
        runner: Runner,
        systemd: Systemd,
        clock: Clock,
        say: Callable[[str], None],
    ) -> None:
        self._file = file
        self._state = state
        self._runner = runner
        self._systemd = systemd
        self._clock = clock
        self._say = say

    def record(self, ending: Ending) -> Reason | None:
        """Record one ending; the answer is the reason, None for one that was wanted."""
        known = self._known(ending.invocation)
        job = self._systemd.job(self._file.unit)
        reason = self._reason(ending, known, job)
        facts: dict[str, Any] = {"ended": round(self._clock.time(), 1), "exit": ending.words()}
        if reason is None:
            facts["outcome"] = "ended"
        else:
            facts["outcome"] = "failed"
            facts["reason"] = reason.to_json()
        self._state.record_start(ending.invocation, **facts)
        if reason is not None:
            self._say(f"{ending.words()}: {reason.words()}")
            # Ended already by the gate, or wanted anew, as by an update that is rolled back: a second stop
            # would undo that.
            if reason.permanent and job not in _WANTED:
                self._say("a restart cannot help: the unit stays failed")
                self._systemd.end_for_good(self._file.unit)
        return reason

    def _known(self, invocation: str) -> Reason | None:
        record = next((row for row in self._state.starts() if row.get("invocation") == invocation), {})
        table = record.get("reason")
        try:
            return Reason(**table) if isinstance(table, dict) else None
        except TypeError:
            return None

    def _reason(self, ending: Ending, known: Reason | None, job: str | None) -> Reason | None:
        """The reason; gate and checks know theirs best, unless they only saw a death."""
        recorded = self._by_watch(ending.invocation) or known
        if recorded is not None and recorded.kind == "stopped" and ending.result != "timeout":
            return None
        if recorded is not None and recorded.kind not in {"died", "error", "stopped"}:
            return recorded
        asked_for = job in _WANTED or (job is None and ending.result == "success")
        if asked_for and ending.result != "timeout":
            # Whatever its status: a container that outlasts its stop timeout exits with 137.
            return None
        return self._unasked(ending, self._from_log(ending) or known)

    def _unasked(self, ending: Ending, told: Reason | None) -> Reason:
        if ending.result == "oom-kill":
            return _killed_for_memory()._replace(line=told.line if told else "")
        if told is not None:
            return told
        if ending.result == "success":
            # vLLM exits with 0 after its engine has died.
            return Reason(kind="ended-itself", what="the server ended by itself, with status 0")
        return Reason(kind=ending.result or "unknown", what=f"ended with {ending.words()}")

    def _by_watch(self, invocation: str) -> Reason | None:
        kills = self._state.watch().get("kills") or [{}]
        last = kills[-1]
        if not invocation or last.get("invocation") != invocation:
            return None
        what = f"ended by the watch, {last.get('state')}"
        return Reason(kind=str(last.get("state")), what=what, line=str(last.get("evidence", "")))

    def _from_log(self, ending: Ending) -> Reason | None:
        # All that has to be asked is under way before anything is waited for.
        log = tail(self._runner, ending.invocation, _LOG_LINES, self._file.log_identifiers)
        kernel = kernel_tail(self._runner, _KERNEL_SECONDS) if ending.number in _KERNEL_MAY_KNOW else list
        patterns()
        told = diagnose(_texts(log()), self._file, status=ending.number)
        of_kernel = diagnose(_texts(kernel()), self._file)
        return of_kernel if of_kernel is not None and (told is None or told.kind in _VAGUE) else told


def _texts(log: Sequence[Line]) -> list[str]:
    return [line.text for line in log]


# Jobs that stop a unit because somebody asked for it.
_WANTED = frozenset({"stop", "restart", "try-restart"})
_VAGUE = frozenset({"error", "exit-1", "signal", "killed", "shm", "cuda", "engine-died", "nccl"})


def _killed_for_memory() -> Reason:
    return Reason(
        kind="host-memory",
        what="the kernel ended it for want of memory",
        remedy="raise the unit's memory limit, or run less beside it",
    )
