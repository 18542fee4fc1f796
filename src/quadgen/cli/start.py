"""`quadgen start`."""

from __future__ import annotations

from quadgen.cli.control import command_for

command = command_for(
    "start",
    """Start services, and show how they load.

    What systemctl does, and what it lacks: the start limit is cleared first, the phases are shown, and a
    failure is told with its reason, and whether systemd goes on trying. Ctrl-C ends the watching, not the
    start. Ends with 0 when all of them serve.
    """,
)
