"""What follows a conclusion of gate or checks: the record, the end of the container, the end of the unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from quadgen.probe.clock import Clock
    from quadgen.probe.gate import Outcome
    from quadgen.probe.gpulock import GpuLocks
    from quadgen.probe.probefile import ProbeFile
    from quadgen.probe.process import Container, Systemd
    from quadgen.probe.reasons import Reason
    from quadgen.probe.state import ServiceState


class Closing(NamedTuple):
    """Puts a conclusion into effect.

    Args:
        file: The service.
        invocation: The unit's INVOCATION_ID.
        state: Where it is written down.
        container: What is ended.
        systemd: What ends the unit.
        locks: The GPUs' locks.
        clock: The time.
        say: Prints one line into the journal.
    """

    file: ProbeFile
    invocation: str
    state: ServiceState
    container: Container
    systemd: Systemd
    locks: GpuLocks
    clock: Clock
    say: Callable[[str], None]

    def begin(self) -> None:
        """Write down that a start has begun."""
        self.state.record_start(self.invocation, began=round(self.clock.time(), 1), outcome="loading")

    def after_checks(self, reason: Reason | None) -> int:
        """Close the checks before a start; the answer is the exit status."""
        if reason is None:
            return 0
        self._failed(reason, outcome="failed")
        return 1

    def after_gate(self, outcome: Outcome) -> int:
        """Close a start; the answer is the exit status.

        A container that still lives is ended first. systemd skips `ExecStop=` after a failed
        `ExecStartPost=`, and vLLM loses SIGTERM while it loads: the whole stop timeout would pass.
        """
        facts = {"seconds": outcome.seconds, "phases": dict(outcome.phases)}
        if outcome.reason is None:
            self.state.record_start(self.invocation, outcome="serving", note=outcome.note, **facts)
            if self.file.needs.gpus:
                self.locks.drop(self.file.unit)
            return 0
        if not outcome.died:
            self.say(f"{self.file.container}: {self.container.kill()}")
        self.state.record_start(self.invocation, **facts)
        self._failed(outcome.reason, outcome="ended" if outcome.stopped else "failed")
        # Anything else would leave a unit as failed that somebody stopped while it loaded.
        return 0 if outcome.stopped else 1

    def _failed(self, reason: Reason, *, outcome: str) -> None:
        self.state.record_start(self.invocation, outcome=outcome, reason=reason.to_json())
        self.say(reason.words())
        if reason.permanent:
            self.say("a restart cannot help: the unit ends here")
            self.systemd.end_for_good(self.file.unit)
