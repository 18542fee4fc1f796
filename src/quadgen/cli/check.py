"""`quadgen check`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from quadgen.cli import inputs, output
from quadgen.cli.settings import common, settings_of
from quadgen.errors import QuadgenError

if TYPE_CHECKING:
    from quadgen.findings import Finding
    from quadgen.spec import Loaded


@click.command("check")
@common
@inputs.podman_option
@click.option("--vllm", metavar="X.Y", help="Tell what would change with another vLLM release.")
@click.pass_context
def command(ctx: click.Context, podman: str | None, vllm: str | None) -> None:
    """Check the spec, and change nothing.

    Everything that is wrong is told at once, with file, line, key, and what to do: names, values and rules
    of `vllm serve` in the image's release, keys that the Podman release lacks, keys that exclude each other.
    Ends with 0 when the units can be made, and with 2 when not; warnings do not count.

    With --vllm, only what another release would break or change in silence, with the edit for each.
    """
    from quadgen.deploy.runtime import outdated  # noqa: PLC0415
    from quadgen.host.paths import data_folder  # noqa: PLC0415

    settings = settings_of(ctx)
    try:
        loaded = inputs.load_spec(settings)
        findings = (
            _upgrade(loaded, vllm)
            if vllm
            else inputs.examine(loaded, inputs.target_of(settings, podman)).findings
        )
    except QuadgenError as error:
        if not settings.json:
            raise
        output.result([finding.to_json() for finding in output.findings_of(error)])
        ctx.exit(error.exit_status)
    if not (podman or vllm):
        # That is about this machine.
        findings = (*findings, *outdated(data_folder(os.environ)))
    if settings.json:
        output.result([finding.to_json() for finding in findings])
    else:
        output.report(settings, findings)
    errors = sum(finding.severity == "error" for finding in findings)
    if not settings.json and not errors:
        services = output.plural(len(loaded.spec.services), "service")
        warnings = sum(finding.severity == "warning" for finding in findings)
        verdict = output.plural(warnings, "warning") if warnings else "nothing to mend"
        output.message(settings, f"{loaded.source.label}: {services}, {verdict}")
    ctx.exit(2 if errors else 0)


def _upgrade(loaded: Loaded, release: str) -> tuple[Finding, ...]:
    from quadgen.vllm import services  # noqa: PLC0415

    found = [item for service in loaded.spec.services for item in services.upgrade_findings(service, release)]
    return tuple(loaded.locate(found))
