"""One installation at a time.

Two daemon-reloads at once let two runs of Quadlet's generator write over each other (Podman before 6.1), and
two installations would each build on what the other is about to replace. The kernel drops the lock when the
process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quadgen.errors import DeployError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quadgen.deploy.place import Place

_POLL = 0.1


@dataclass(frozen=True, slots=True)
class Lock:
    """Proof that this process may change what is installed at `place`."""

    place: Place


@contextlib.contextmanager
def exclusive(place: Place, *, timeout: float = 60.0) -> Iterator[Lock]:
    """Hold the lock of quadgen's state folder.

    Args:
        place: Where files are installed.
        timeout: Seconds to wait for another quadgen.

    Raises:
        DeployError: It cannot be had.
    """
    file = place.state / "lock"
    try:
        place.state.mkdir(parents=True, exist_ok=True)
        fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DeployError(
            f"{file}: {error.strerror}", "quadgen keeps its lock there: make the folder writable"
        ) from None
    try:
        _wait(fd, file, timeout)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        yield Lock(place)
    finally:
        os.close(fd)


def _wait(fd: int, file: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip() or "unknown"
                raise DeployError(
                    f"another quadgen (process {holder}) holds {file}", "wait until it has ended"
                ) from None
            time.sleep(_POLL)
        else:
            return
