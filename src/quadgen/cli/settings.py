"""The options that every command takes, before or after its name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


@dataclass(slots=True)
class Settings:
    """What the options that all commands share say.

    Attributes:
        file: The spec to use.
        json: Print results for programs.
        quiet: Print results and errors only.
        verbose: Print what is done on the way.
    """

    file: Path | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False


def settings_of(ctx: click.Context) -> Settings:
    """The settings of this run."""
    root = ctx.find_root()
    if os.environ.get("NO_COLOR"):
        root.color = False
    return root.ensure_object(Settings)


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value:
        setattr(settings_of(ctx), param.name or "", value)


def common(command: F) -> F:
    """Give a command the shared options."""
    for names, help_text, kind in (
        (("--verbose", "-v"), "Print what is done on the way.", None),
        (("--quiet", "-q"), "Print results and errors only.", None),
        (("--json",), "Print the result as JSON.", None),
        (("--file", "-f"), "The spec to use.", click.Path(path_type=Path)),
    ):
        command = click.option(
            *names,
            type=kind,
            is_flag=kind is None,
            help=help_text,
            callback=_keep,
            expose_value=False,
            metavar="SPEC" if kind else None,
        )(command)
    return command
