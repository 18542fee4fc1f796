"""`quadgen render`."""

from __future__ import annotations

from pathlib import Path

import click

from quadgen.cli import inputs, output
from quadgen.cli.settings import common, settings_of


@click.command("render")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@common
@inputs.podman_option
@click.option(
    "--probe",
    type=click.Choice(["container"]),
    help="Let the containers check themselves, so that the units need nothing of quadgen's.",
)
@click.option(
    "--output", "-o", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write to this folder."
)
@click.pass_context
def command(
    ctx: click.Context, names: tuple[str, ...], podman: str | None, probe: str | None, folder: Path | None
) -> None:
    """Print the unit files, or write them to a folder.

    Without NAME, all services of the spec. Nothing is installed. Units with a gate run what `quadgen install`
    brings along; with --probe container they stand alone, and can be copied to ~/.config/containers/systemd
    on any machine that has the Podman release they were written for.
    """
    settings = settings_of(ctx)
    loaded = inputs.load_spec(settings)
    target = inputs.target_of(settings, podman)._replace(standalone=probe is not None)
    rendered = inputs.render(loaded, target, names)
    output.report(settings, (*loaded.findings, *rendered.findings))
    if folder is not None:
        from quadgen.deploy.export import export  # noqa: PLC0415

        export(rendered.files, folder)
        output.message(settings, f"{folder}: wrote {', '.join(file.name for file in rendered.files)}")
    if settings.json:
        output.result(
            [
                {"name": file.name, "services": list(file.services), "text": file.text}
                for file in rendered.files
            ]
        )
    elif folder is None:
        click.echo("\n".join(f"# {file.name}\n{file.text}" for file in rendered.files), nl=False)
