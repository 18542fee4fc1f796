"""What will read the unit files: releases and limits of the machine they are written for."""

from __future__ import annotations

from typing import NamedTuple

from quadgen.quadlet.version import DEFAULT, PodmanVersion


class Target(NamedTuple):
    """The machine that units are rendered for.

    Args:
        podman: Its Podman.
        systemd: Its systemd's release; None when unknown, which leaves out what not all have.
        pids_controller: Whether a user's units may limit processes.
    """

    podman: PodmanVersion = DEFAULT
    systemd: int | None = None
    pids_controller: bool = True
