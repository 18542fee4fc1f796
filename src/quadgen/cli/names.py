"""The names of installed services on a command line: completed by the shell, and checked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from quadgen.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

_SUFFIX = ".service"


def names_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `[NAME]...`."""
    return click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=_complete)(command)


def name_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `NAME`."""
    return click.argument("name", metavar="NAME", shell_complete=_complete)(command)


def all_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--all`."""
    return click.option("--all", "everything", is_flag=True, help="All installed services.")(command)


def chosen(names: Sequence[str], known: Collection[str], *, everything: bool = False) -> tuple[str, ...]:
    """The services that a command line means, each once.

    Args:
        names: As they were typed; `NAME.service` means NAME.
        known: The services that there are.
        everything: All of them.

    Raises:
        UsageError: None is named, or one that there is not.
    """
    if bool(names) == everything:
        raise UsageError(
            "name one service or more, or give --all", f"there are: {', '.join(known) or 'none'}"
        )
    wanted = tuple(known) if everything else tuple(dict.fromkeys(map(_bare, names)))
    for name in wanted:
        if name not in known:
            raise UsageError(f"no service {name!r} is installed", _remedy(name, known))
    return wanted


def _bare(name: str) -> str:
    return name.removesuffix(_SUFFIX)


def _remedy(name: str, known: Collection[str]) -> str:
    if not known:
        return "run `quadgen install` first"
    from quadgen.spec.refusal import did_you_mean  # noqa: PLC0415 - pydantic, for a mistake only

    return f"{did_you_mean(name, known)} (`quadgen install` brings those of the spec)"


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from quadgen.deploy.services import installed_names  # noqa: PLC0415 - for a shell's question only

    given = ctx.params.get("names") or ()
    return [name for name in installed_names(os.environ) if name.startswith(incomplete) and name not in given]
