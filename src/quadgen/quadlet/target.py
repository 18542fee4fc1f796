"""What will read the unit files: releases and limits of the machine they are written for."""

from __future__ import annotations

from dataclasses import dataclass

from quadgen.quadlet.version import DEFAULT, PodmanVersion


@dataclass(frozen=True, slots=True)
class Target:
    """The machine that units are rendered for.

    Args:
        podman: Its Podman.
        systemd: Its systemd's release; None when unknown, which leaves out what not all have.
        pids_controller: Whether a user's units may limit processes.
    """

    podman: PodmanVersion = DEFAULT
    systemd: int | None = None
    pids_controller: bool = True
