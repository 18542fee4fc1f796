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
        data_home: The user's data folder; None for the default one, which units name by the home folder.
        standalone: The units must do without anything of quadgen's on that machine.
    """

    podman: PodmanVersion = DEFAULT
    systemd: int | None = None
    pids_controller: bool = True
    data_home: str | None = None
    standalone: bool = False
