"""`quadgen stop`."""

from __future__ import annotations

from quadgen.cli.control import command_for

command = command_for(
    "stop",
    """Stop services.

    Also ends the attempts to start one that fails. Ctrl-C ends the watching, not the stop. Ends with 0 when
    none of them runs any more.
    """,
)
