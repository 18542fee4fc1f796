"""Groups of commands: each command is imported when it is used, so that help and version stay fast."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping


class Commands(click.Group):
    """Loads a command's module when the command is used.

    Args:
        rows: What help says of each command, in the order of help.
        prefix: What stands before a command's name in its module's: `quadgen.cli.`.
    """

    def __init__(self, *args: Any, rows: Mapping[str, str], prefix: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rows = rows
        self._prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Names in the order of help."""
        return list(self._rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module."""
        if cmd_name not in self._rows:
            return None
        command = import_module(self._prefix + cmd_name).command
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Answer a mistyped command with the nearest one."""
        if args and args[0] not in self._rows and not args[0].startswith("-"):
            from quadgen.spec.refusal import did_you_mean  # noqa: PLC0415

            ctx.fail(f"there is no command {args[0]!r}; {did_you_mean(args[0], self._rows)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._rows.items()))
