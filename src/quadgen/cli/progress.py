"""How `start`, `restart` and `stop` show where they are: lines that change, or one line a phase."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Protocol

import click

from quadgen.cli.table import cut, terminal_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quadgen.cli.settings import Settings
    from quadgen.deploy.control import Progress

# Percentages, counts and times: what changes within one phase.
_FIGURES = re.compile(r"\S*\d\S*")
_UP, _CLEAR = "\x1b[{}A", "\r\x1b[2K"


class Display(Protocol):
    """Shows progress.

    Attributes:
        between: Whether other lines may stand between its own.
    """

    between: bool

    def show(self, progress: Sequence[Progress]) -> None:
        """Show where all services are now."""
        ...


class Silent:
    """Shows nothing, for those who asked for it."""

    between = True

    def show(self, progress: Sequence[Progress]) -> None:
        """Show nothing."""


class Lines:
    """One line a phase: for a log."""

    between = True

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def show(self, progress: Sequence[Progress]) -> None:
        """Print what has not been told yet, figures aside."""
        for one in progress:
            key = (one.service, _FIGURES.sub("", one.text))
            # How it ended is the result's business.
            if one.result is None and key not in self._told:
                self._told.add(key)
                click.echo(f"{one.service}: {one.text}", err=True)


class Block:
    """One line a service, drawn over and over: for a terminal."""

    between = False

    def __init__(self) -> None:
        self._drawn: list[str] = []

    def show(self, progress: Sequence[Progress]) -> None:
        """Draw all lines anew."""
        width = max(len(one.service) for one in progress)
        room = terminal_width() - 1
        lines = [cut(f"{one.service:{width}}  {one.text}", room) for one in progress]
        if lines == self._drawn:
            return
        up = _UP.format(len(self._drawn)) if self._drawn else ""
        # Not through click: where colours are off, it would take the movements away as well.
        sys.stderr.write(up + "".join(f"{_CLEAR}{line}\n" for line in lines))
        sys.stderr.flush()
        self._drawn = lines


def display_for(settings: Settings) -> Display:
    """The display for this run."""
    if settings.quiet:
        return Silent()
    return Block() if sys.stderr.isatty() else Lines()
