"""`quadgen schema`."""

from __future__ import annotations

import click

from quadgen.cli import output
from quadgen.cli.settings import common


@click.command("schema")
@common
@click.option("--vllm", metavar="X.Y", help="The vLLM release to write for. Default: the newest known.")
def command(vllm: str | None) -> None:
    """Print the JSON Schema of a spec.

    Editors that know it complete and check quadgen.toml while it is written: names of keys and options,
    types, choices. For editors with the taplo language server, the first line of the spec names the file:

    \b
      quadgen schema >~/.config/quadgen/schema.json
      #:schema ./schema.json
    """  # noqa: D301 - a backspace it is, by which click knows text to leave as it stands
    from quadgen.spec.json_schema import spec_schema  # noqa: PLC0415
    from quadgen.vllm import catalog  # noqa: PLC0415

    output.result(spec_schema(catalog.load(vllm or catalog.RELEASES[-1])))
