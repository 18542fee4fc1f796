"""`quadgen probe`: what units run themselves has an entry point of its own, `quadgen.probe.main`."""

from __future__ import annotations

import click

from quadgen.cli.group import Commands

COMMANDS = {"once": "Look at all levels of a service now."}


@click.group("probe", cls=Commands, rows=COMMANDS, prefix="quadgen.cli.probe_")
def command() -> None:
    """Look at a running service."""
