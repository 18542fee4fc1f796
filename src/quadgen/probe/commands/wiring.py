"""What several commands need, made from a probe file and the environment that systemd gives."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from quadgen.probe.journal import MARK
from quadgen.probe.state import ServiceState, folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quadgen.probe.probefile import ProbeFile


def speaker(command: str) -> Callable[[str], None]:
    """What prints a line into the journal, marked as the probe's own."""

    def say(text: str) -> None:
        sys.stdout.write(f"{MARK}{command}: {text}\n")
        sys.stdout.flush()

    return say


def state_of(file: ProbeFile, environ: Mapping[str, str]) -> ServiceState:
    """The state of the service."""
    return ServiceState(folder(environ), file.service)


def lock_folder(environ: Mapping[str, str]) -> Path:
    """Where the GPUs' locks lie."""
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    return Path(runtime) / "quadgen" / "gpu"


def number(text: str) -> int:
    """A number that systemd gives, 0 where it gives none."""
    return int(text) if text.isdigit() else 0
