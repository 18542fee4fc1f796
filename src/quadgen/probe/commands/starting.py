"""The closing that the checks and the gate share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.probe.clock import SystemClock
from quadgen.probe.closing import Closing
from quadgen.probe.commands.wiring import lock_folder, number, state_of
from quadgen.probe.gpulock import GpuLocks
from quadgen.probe.process import Container, Systemd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quadgen.probe.probefile import ProbeFile
    from quadgen.probe.process import Runner


def closing(
    file: ProbeFile, environ: Mapping[str, str], runner: Runner, say: Callable[[str], None]
) -> Closing:
    """What puts the conclusion of this start into effect."""
    systemd = Systemd(runner)
    return Closing(
        file=file,
        invocation=environ.get("INVOCATION_ID", ""),
        state=state_of(file, environ),
        container=Container(file.container, runner, number(environ.get("MAINPID", ""))),
        systemd=systemd,
        locks=GpuLocks(lock_folder(environ), systemd),
        clock=SystemClock(),
        say=say,
    )
