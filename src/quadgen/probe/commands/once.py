"""One look at all levels, printed as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from quadgen.probe.clock import SystemClock
from quadgen.probe.once import look_once
from quadgen.probe.process import Systemd, SystemRunner
from quadgen.probe.server import ModelServer, key_sources
from quadgen.probe.transport import HttpClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quadgen.probe.probefile import ProbeFile


def run(file: ProbeFile, _environ: Mapping[str, str]) -> int:
    """Look once; 0 says that the service does what it should."""
    runner = SystemRunner()
    server = ModelServer(file, HttpClient(file.server), key_sources(file, runner))
    report = look_once(file, server, systemd=Systemd(runner), clock=SystemClock())
    sys.stdout.write(json.dumps(report.to_json(), indent=2) + "\n")
    return 0 if report.good else 1
