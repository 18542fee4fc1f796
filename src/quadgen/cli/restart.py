"""`quadgen restart`."""

from __future__ import annotations

from quadgen.cli.control import command_for

command = command_for(
    "restart",
    """Stop services and start them anew.

    As `quadgen start`, also for services that run. The start limit is cleared first: at the limit, systemd
    would stop a running service and then refuse to start it.
    """,
)
