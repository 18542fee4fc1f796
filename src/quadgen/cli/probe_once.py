"""`quadgen probe once`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from quadgen.cli import output
from quadgen.cli.names import chosen, name_argument
from quadgen.cli.settings import common, settings_of
from quadgen.errors import UsageError

if TYPE_CHECKING:
    from quadgen.deploy.services import InstalledService
    from quadgen.probe.once import Report
    from quadgen.probe.probefile import ProbeFile


@click.command("once")
@name_argument
@common
@click.pass_context
def command(ctx: click.Context, name: str) -> None:
    """Look at all levels of a service now.

    The unit, /health, /v1/models, /metrics, and one token of a completion. Nothing is changed, and nothing is
    restarted. Ends with 0 when the service is serving, busy or asleep, else with 1.
    """
    from quadgen.deploy.services import installed_services  # noqa: PLC0415
    from quadgen.probe.clock import SystemClock  # noqa: PLC0415
    from quadgen.probe.once import look_once  # noqa: PLC0415
    from quadgen.probe.process import Systemd, SystemRunner  # noqa: PLC0415
    from quadgen.probe.server import ModelServer, key_sources  # noqa: PLC0415
    from quadgen.probe.transport import HttpClient  # noqa: PLC0415

    settings = settings_of(ctx)
    known = {service.name: service for service in installed_services(os.environ)}
    service = known[chosen((name,), list(known))[0]]
    file = _probe_file(service)
    runner = SystemRunner()
    server = ModelServer(file, HttpClient(file.server), key_sources(file, runner))
    report = look_once(file, server, systemd=Systemd(runner), clock=SystemClock())
    if settings.json:
        output.result({"service": service.name} | report.to_json())
    else:
        click.echo("\n".join(_lines(service.name, report)))
    if not report.good:
        ctx.exit(1)


def _probe_file(service: InstalledService) -> ProbeFile:
    """The probe file that the running start went by, else the installed one."""
    from quadgen.deploy.services import PROBE_FILE  # noqa: PLC0415
    from quadgen.probe.probefile import load  # noqa: PLC0415
    from quadgen.probe.started import of_this_start  # noqa: PLC0415

    if service.path is None or (service.probe is None and not service.problem):
        run = f"podman healthcheck run {service.checked}"
        own = f"ask as its own check does: {run}; or " if service.checked else ""
        raise UsageError(
            f"{service.name} is installed without a probe file, so it is not known where it answers",
            f'{own}set mode = "host" in its probe table, then run `quadgen install`',
        )
    return of_this_start("once", service.path.with_suffix(PROBE_FILE), load, os.environ)


def _lines(name: str, report: Report) -> list[str]:
    verdict = report.verdict
    state = click.style(verdict.state, fg="green" if report.good else "red")
    wide = [max(len(text) for text in column) for column in zip(*_cells(report), strict=True)]
    return [
        f"{name}: {state}: {verdict.evidence}",
        *(
            f"  {level:{wide[0]}}  {answer:{wide[1]}}  {took:>{wide[2]}}".rstrip()
            for level, answer, took in _cells(report)
        ),
    ]


def _cells(report: Report) -> list[tuple[str, str, str]]:
    return [
        (level.name, level.answer, f"{level.seconds * 1000:.0f} ms" if level.seconds else "")
        for level in report.levels
    ]
