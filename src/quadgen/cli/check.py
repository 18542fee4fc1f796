"""`quadgen check`."""

from __future__ import annotations

import click

from quadgen.cli import inputs, output
from quadgen.cli.settings import common, settings_of
from quadgen.errors import QuadgenError


@click.command("check")
@common
@inputs.podman_option
@click.pass_context
def command(ctx: click.Context, podman: str | None) -> None:
    """Check the spec, and change nothing.

    Everything that is wrong is told at once, with file, line, key, and what to do. Ends with 0 when the
    units can be made, and with 2 when not; warnings do not count.
    """
    settings = settings_of(ctx)
    try:
        loaded = inputs.load_spec(settings)
        rendered = inputs.render(loaded, inputs.target_of(settings, podman))
    except QuadgenError as error:
        if not settings.json:
            raise
        output.result([finding.to_json() for finding in output.findings_of(error)])
        ctx.exit(error.exit_status)
    findings = (*loaded.findings, *rendered.findings)
    if settings.json:
        output.result([finding.to_json() for finding in findings])
        return
    output.report(settings, findings)
    services = output.plural(len(loaded.spec.services), "service")
    warnings = sum(finding.severity == "warning" for finding in findings)
    verdict = output.plural(warnings, "warning") if warnings else "nothing to mend"
    output.message(settings, f"{loaded.source.label}: {services}, {verdict}")
