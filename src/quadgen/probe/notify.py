"""Talking to systemd, through sdnotify.

Facts, measured: with `NotifyAccess=all`, which Quadlet forces, STATUS= and EXTEND_TIMEOUT_USEC= of an
`ExecStartPre=` and an `ExecStartPost=` process count like those of the main process.
"""

from __future__ import annotations

import os
from typing import Protocol

import sdnotify


class Notifier(Protocol):
    """Sends one message to the service manager."""

    def send(self, message: str) -> None:
        """Send `NAME=value` lines; without a manager nothing happens."""
        ...


class SystemdNotifier:
    """Sends to $NOTIFY_SOCKET."""

    def __init__(self) -> None:
        # Without a manager sdnotify would make a socket and leave it open.
        self._notifier = sdnotify.SystemdNotifier() if os.environ.get("NOTIFY_SOCKET") else None

    def send(self, message: str) -> None:
        """Send `NAME=value` lines; without a manager nothing happens."""
        # sdnotify encodes as latin-1 and swallows the error of a letter beyond it; names may have one.
        if self._notifier is not None:
            self._notifier.notify(message.encode("utf-8", "replace").decode("latin-1"))


def status(text: str) -> str:
    """The message that sets the unit's status line."""
    return "STATUS=" + " ".join(text.split())


def extend(seconds: float) -> str:
    """The message that moves the running timeout to at least `seconds` from now."""
    return f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}"
