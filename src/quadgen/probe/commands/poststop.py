"""`ExecStopPost=`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.probe.clock import SystemClock
from quadgen.probe.commands.wiring import speaker, state_of
from quadgen.probe.poststop import Ending, Recorder
from quadgen.probe.process import Systemd, SystemRunner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quadgen.probe.probefile import ProbeFile


def run(file: ProbeFile, environ: Mapping[str, str]) -> int:
    """Write down how this run ended."""
    runner = SystemRunner()
    recorder = Recorder(
        file,
        state_of(file, environ),
        runner=runner,
        systemd=Systemd(runner),
        clock=SystemClock(),
        say=speaker("poststop"),
    )
    recorder.record(Ending.of(environ))
    return 0
