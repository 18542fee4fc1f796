"""The command line's top: what there is, and how it fails."""

from __future__ import annotations

from typing import Any

import click

from quadgen import __version__
from quadgen.cli.group import Commands
from quadgen.cli.settings import Settings, common, settings_of
from quadgen.errors import QuadgenError

# What `quadgen --help` says of each command, in the order of a first use.
COMMANDS = {
    "init": "Write a first spec to start from.",
    "check": "Check the spec, and change nothing.",
    "render": "Print the unit files, or write them to a folder.",
    "install": "Bring the unit files to systemd, as one change.",
    "start": "Start services, and show how they load.",
    "restart": "Stop services and start them anew.",
    "stop": "Stop services.",
    "status": "Show how the installed services are.",
    "probe": "Look at a running service.",
    "uninstall": "Take installed unit files away again.",
    "options": "Search and explain the options of `vllm serve`.",
    "schema": "Print the JSON Schema of a spec, for editors.",
}


class Quadgen(Commands):
    """The whole command line; turns errors into lines."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an expected failure ends in its lines and its exit status."""
        try:
            return super().invoke(ctx)
        except QuadgenError as error:
            from quadgen.cli import output  # noqa: PLC0415

            output.failure(settings_of(ctx), error)
            ctx.exit(error.exit_status)


@click.group(
    cls=Quadgen,
    rows=COMMANDS,
    prefix="quadgen.cli.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="quadgen %(version)s")
@common
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run `vllm serve` as rootless systemd services.

    One TOML file says which models this machine serves. quadgen checks it, makes Quadlet unit files of it,
    and installs them for systemd:

    \b
      quadgen init                           write a first spec
      quadgen install                        bring it to systemd
      quadgen start vllm-qwen                serve
      quadgen status                         see how it is
      journalctl --user -u vllm-qwen         read the log

    The spec is --file, else $QUADGEN_FILE, ./quadgen.toml, or ~/.config/quadgen/quadgen.toml; with none of
    them, the built-in service vllm-qwen.
    """  # noqa: D301 - a backspace it is, by which click knows text to leave as it stands
    ctx.ensure_object(Settings)
