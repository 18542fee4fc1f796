"""`quadgen-watch@NAME.service`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.probe.clock import SystemClock
from quadgen.probe.commands.wiring import number, speaker, state_of
from quadgen.probe.notify import SystemdNotifier
from quadgen.probe.process import Container, Systemd, SystemRunner
from quadgen.probe.server import ModelServer, key_sources
from quadgen.probe.transport import HttpClient
from quadgen.probe.waiting import PollWaiter, StopSignal, ThreadExchange
from quadgen.probe.watch import Tools, Watch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quadgen.probe.probefile import ProbeFile

# Where the unit has no watchdog.
_PING_SECONDS = 30.0


def run(file: ProbeFile, environ: Mapping[str, str]) -> int:
    """Watch until stopped."""
    runner, stop, waiter = SystemRunner(), StopSignal(), PollWaiter()
    exchange, worker = ThreadExchange(), ThreadExchange()
    waiter.add(stop.fileno(), "stop")
    waiter.add(exchange.fileno(), "answer")
    waiter.add(worker.fileno(), "work")
    client = HttpClient(file.server)
    tools = Tools(
        server=lambda: ModelServer(file, client, key_sources(file, runner)),
        exchange=exchange,
        worker=worker,
        waiter=waiter,
        systemd=Systemd(runner),
        container=Container(file.container, runner),
        runner=runner,
        state=state_of(file, environ),
        clock=SystemClock(),
        notifier=SystemdNotifier(),
        say=speaker("watch"),
        ping_every=number(environ.get("WATCHDOG_USEC", "")) / 3_000_000 or _PING_SECONDS,
    )
    Watch(file, tools).run()
    return 0
