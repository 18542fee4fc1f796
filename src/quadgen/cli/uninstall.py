"""`quadgen uninstall`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from quadgen.cli import changes
from quadgen.cli.settings import common, settings_of


@click.command("uninstall")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@common
@click.option("--all", "everything", is_flag=True, help="Those of all specs, not of this one alone.")
@click.option("--dry-run", is_flag=True, help="Tell what would change, and change nothing.")
@click.option("--overwrite", is_flag=True, help="Remove unit files that were edited by hand, too.")
@click.pass_context
def command(
    ctx: click.Context, names: tuple[str, ...], *, everything: bool, dry_run: bool, overwrite: bool
) -> None:
    """Take installed unit files away again.

    Without NAME, all that were installed from this spec, which need not exist any more. Running services are
    stopped first. Volumes keep their data; their names are told.
    """
    from quadgen.deploy import install as deploy  # noqa: PLC0415
    from quadgen.host.facts import detect  # noqa: PLC0415
    from quadgen.host.run import RealRunner  # noqa: PLC0415
    from quadgen.spec.source import label_of  # noqa: PLC0415

    settings = settings_of(ctx)
    label = None if everything or names else label_of(settings.file, os.environ, Path.cwd())
    runner = RealRunner()
    request = deploy.Request(spec=label, names=names or None, overwrite=overwrite, dry_run=dry_run)
    outcome = deploy.install(request, detect(runner, os.environ), runner)
    changes.tell(settings, outcome, outcome.findings, dry_run=dry_run)
    kept = [entry for entry in outcome.plan.entries if entry.action == "edited"]
    if outcome.failed or (kept and not dry_run):
        ctx.exit(1)
