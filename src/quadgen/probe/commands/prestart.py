"""`ExecStartPre=`."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from quadgen.probe.clock import SystemClock
from quadgen.probe.commands.starting import closing
from quadgen.probe.commands.wiring import speaker
from quadgen.probe.notify import SystemdNotifier
from quadgen.probe.prestart import Prestart, Tools
from quadgen.probe.process import SystemRunner
from quadgen.probe.waiting import PollWaiter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quadgen.probe.probefile import ProbeFile


def run(file: ProbeFile, environ: Mapping[str, str]) -> int:
    """Check what a start needs; 0 lets it go on.

    A stop, which is SIGTERM, ends it well: for systemd death by a signal would be a failure. What has come to
    a conclusion ends as that says, although it stops its own unit.
    """
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    runner, say = SystemRunner(), speaker("prestart")
    end = closing(file, environ, runner, say)
    end.begin()
    tools = Tools(
        runner=runner,
        locks=end.locks,
        waiter=PollWaiter(),
        clock=SystemClock(),
        notifier=SystemdNotifier(),
        say=say,
    )
    reason = Prestart(file, end.invocation, tools).run()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return end.after_checks(reason)
