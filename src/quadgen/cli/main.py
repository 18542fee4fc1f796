"""The group of commands: each is imported when it is used, so that help and version stay fast."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from quadgen import __version__
from quadgen.cli.settings import Settings, common, settings_of
from quadgen.errors import QuadgenError

# What `quadgen --help` says of each command, in the order of a first use.
COMMANDS = {
    "init": "Write a first spec to start from.",
    "check": "Check the spec, and change nothing.",
    "render": "Print the unit files, or write them to a folder.",
    "install": "Bring the unit files to systemd, as one change.",
    "uninstall": "Take installed unit files away again.",
    "options": "Search and explain the options of `vllm serve`.",
    "schema": "Print the JSON Schema of a spec, for editors.",
}


class Commands(click.Group):
    """Loads a command's module when the command is used, and turns errors into lines."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Names in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"quadgen.cli.{cmd_name}").command
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Answer a mistyped command with the nearest one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from quadgen.spec.refusal import did_you_mean  # noqa: PLC0415

            ctx.fail(f"there is no command {args[0]!r}; {did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an expected failure ends in its lines and its exit status."""
        try:
            return super().invoke(ctx)
        except QuadgenError as error:
            from quadgen.cli import output  # noqa: PLC0415

            output.failure(settings_of(ctx), error)
            ctx.exit(error.exit_status)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
      systemctl --user start vllm-qwen       serve
      journalctl --user -u vllm-qwen         read the log

    The spec is --file, else $QUADGEN_FILE, ./quadgen.toml, or ~/.config/quadgen/quadgen.toml; with none of
    them, the built-in service vllm-qwen.
    """  # noqa: D301 - a backspace it is, by which click knows text to leave as it stands
    ctx.ensure_object(Settings)
