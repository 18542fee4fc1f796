"""`quadgen install`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from quadgen.cli import changes, inputs, output
from quadgen.cli.settings import common, settings_of

if TYPE_CHECKING:
    from quadgen.cli.settings import Settings


@click.command("install")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@common
@click.option("--dry-run", is_flag=True, help="Tell what would change, and change nothing.")
@click.option("--overwrite", is_flag=True, help="Replace unit files that were edited by hand, too.")
@click.option("--take-over", is_flag=True, help="Replace unit files that another spec installed, too.")
@click.pass_context
def command(
    ctx: click.Context, names: tuple[str, ...], *, dry_run: bool, overwrite: bool, take_over: bool
) -> None:
    """Bring the unit files to systemd, as one change.

    Without NAME, all services of the spec; unit files of services that the spec has no more are removed.
    This machine's own Quadlet generator judges the files first. Files that quadgen did not write are never
    touched, and those that were edited by hand are kept, unless told otherwise. Nothing is started.
    """
    from quadgen.cli.needs import needs_of  # noqa: PLC0415
    from quadgen.deploy import install as deploy  # noqa: PLC0415
    from quadgen.deploy.foundation import Wanted  # noqa: PLC0415
    from quadgen.deploy.needs import missing_for_start  # noqa: PLC0415
    from quadgen.deploy.runtime import own_runtime  # noqa: PLC0415
    from quadgen.host.facts import detect  # noqa: PLC0415
    from quadgen.host.run import RealRunner  # noqa: PLC0415
    from quadgen.quadlet.gate import watch_unit  # noqa: PLC0415
    from quadgen.quadlet.render import choose  # noqa: PLC0415

    settings = settings_of(ctx)
    loaded = inputs.load_spec(settings)
    services = choose(loaded.spec, names)
    runner = RealRunner()
    host = detect(runner, os.environ)
    target = inputs.target_of_host(host)
    rendered = inputs.examine(loaded, target, names)
    request = deploy.Request(
        rendered=rendered.files,
        spec=loaded.source.label,
        names=names or None,
        overwrite=overwrite,
        take_over=take_over,
        dry_run=dry_run,
        foundation=Wanted(runtime=own_runtime(), watch=watch_unit(target)),
    )
    outcome = deploy.install(request, host, runner)
    running = [name.removesuffix(".service") for name, state in outcome.states.items() if state.running]
    missing = missing_for_start(runner, host, [needs_of(service) for service in services], running=running)
    findings = (*rendered.findings, *loaded.locate([*outcome.findings, *missing]))
    changes.tell(settings, outcome, findings, dry_run=dry_run)
    if outcome.failed:
        ctx.exit(1)
    if not dry_run:
        _tell_next(settings, [service.name for service in services], outcome.restart)


def _tell_next(settings: Settings, names: list[str], restart: tuple[str, ...]) -> None:
    if settings.json or not names:
        return
    verb = "restart" if restart else "start"
    chosen = " ".join(name.removesuffix(".service") for name in restart) or " ".join(names)
    lines = (
        (f"systemctl --user {verb} {chosen}", "serve what changed" if restart else "serve"),
        (f"journalctl --user -f -u {names[0]}", "follow the log"),
        (f"systemctl --user status {names[0]}", "see how it is"),
    )
    width = max(len(line) for line, _ in lines)
    for line, what in lines:
        output.message(settings, f"  {line:{width}}   {what}")
