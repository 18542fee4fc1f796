"""`quadgen init`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from quadgen.cli import output
from quadgen.cli.settings import common, settings_of
from quadgen.errors import UsageError


@click.command("init")
@common
@click.option("--dry-run", is_flag=True, help="Print the spec, and write nothing.")
@click.pass_context
def command(ctx: click.Context, *, dry_run: bool) -> None:
    """Write a first spec to start from.

    It holds the built-in service and, as comments, the keys that most people change. It goes to --file, else
    to ~/.config/quadgen/quadgen.toml; a file that is there already is left alone.
    """
    from quadgen.deploy.export import write_new  # noqa: PLC0415
    from quadgen.spec import source  # noqa: PLC0415

    settings = settings_of(ctx)
    path = Path(Path.cwd(), settings.file.expanduser()) if settings.file else source.user_spec(os.environ)
    text = source.starter()
    if dry_run:
        click.echo(text, nl=False)
        return
    if not write_new(path, text):
        raise UsageError(f"{path} is there already", "edit it, or name another file with --file")
    if settings.json:
        output.result({"file": str(path)})
    output.message(settings, f"wrote {path}\nnext: edit it, then run `quadgen check` and `quadgen install`")
