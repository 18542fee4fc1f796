"""`ExecStartPost=`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.probe.clock import SystemClock
from quadgen.probe.commands.starting import closing
from quadgen.probe.commands.wiring import speaker
from quadgen.probe.gate import Gate, Outcome, Tools
from quadgen.probe.journal import JournalFollower
from quadgen.probe.notify import SystemdNotifier
from quadgen.probe.process import SystemRunner, children
from quadgen.probe.progress import ProcessTraffic
from quadgen.probe.reasons import Reason
from quadgen.probe.server import ModelServer, key_sources
from quadgen.probe.transport import HttpClient
from quadgen.probe.waiting import PollWaiter, StopSignal, ThreadExchange, process_fd

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quadgen.probe.probefile import ProbeFile


def run(file: ProbeFile, environ: Mapping[str, str]) -> int:
    """Hold the start until the model answers; 0 says that it does."""
    stop, waiter = StopSignal(), PollWaiter()
    waiter.add(stop.fileno(), "stop")
    runner, say = SystemRunner(), speaker("gate")
    end = closing(file, environ, runner, say)
    main_pid = end.container.main_pid
    process = process_fd(main_pid) if main_pid else None
    if process is None:
        reason = Reason(kind="died", what="the container ended before the gate began")
        return end.after_gate(Outcome(reason=reason, died=True))
    waiter.add(process, "died")
    tools = Tools(
        server=ModelServer(file, HttpClient(file.server), key_sources(file, runner)),
        exchange=ThreadExchange(),
        waiter=waiter,
        journal=JournalFollower(end.invocation, file.log_identifiers),
        meter=ProcessTraffic(main_pid, file.cache_paths),
        clock=SystemClock(),
        notifier=SystemdNotifier(),
        say=say,
        first=next(map(process_fd, children(main_pid)), None),
    )
    return end.after_gate(Gate(file, tools).run())
