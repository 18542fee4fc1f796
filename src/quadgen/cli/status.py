"""`quadgen status`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from quadgen.cli import output, status_view
from quadgen.cli.names import chosen, names_argument
from quadgen.cli.settings import common, settings_of
from quadgen.cli.table import terminal_width

if TYPE_CHECKING:
    from quadgen.deploy.status import Report


@click.command("status")
@names_argument
@common
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Show how the installed services are.

    Without NAME, a table of all of them. With NAME, all that is known: the last starts with the reasons of
    those that failed, load times by phase, the last verdicts, and what to type next. Ends with 1 when a
    service that was named is not serving.
    """
    from quadgen.deploy.services import installed_names, remembered_names  # noqa: PLC0415
    from quadgen.deploy.status import report  # noqa: PLC0415
    from quadgen.host.run import RealRunner  # noqa: PLC0415

    settings = settings_of(ctx)
    if names:
        known = {*installed_names(os.environ), *remembered_names(os.environ)}
        names = chosen(names, sorted(known))
    now = time.time()
    found = report(RealRunner(), os.environ, names, now=now)
    if settings.json:
        output.result(
            {
                "services": [one.to_json() for one in found.services],
                "findings": [finding.to_json() for finding in found.findings],
            }
        )
    else:
        _print(found, now, long=bool(names))
        output.report(settings, found.findings)
        if not found.services:
            output.message(settings, "no service is installed\n    run `quadgen install`")
    if names and not all(one.condition.good for one in found.services):
        ctx.exit(1)


def _print(found: Report, now: float, *, long: bool) -> None:
    if not found.services:
        return
    if long:
        click.echo("\n\n".join(status_view.whole(one, now) for one in found.services))
    else:
        click.echo("\n".join(status_view.table(found.services, now, terminal_width())))
