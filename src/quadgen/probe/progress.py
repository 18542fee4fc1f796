"""Progress that no log tells: bytes from the network, into the caches, or off the disk.

vLLM downloads in silence, for forty minutes on a slow line. CPU time is no progress: a process that waits
for a peer spins. Nor are a few bytes a second: the gate's own questions reach the container as well.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from quadgen.probe.process import children, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The gate's own requests are below 5 kB a second.
_LEAST_NETWORK_RATE = 16_000
_LEAST_DISK_BYTES = 1 << 20
# Files of a cache that are looked at; a hub cache of a hundred models has a few thousand.
_MOST_FILES = 20_000


class Traffic(NamedTuple):
    """Bytes so far, each since some fixed past.

    Args:
        network: Received by the container, 0 where it cannot be told from the host's.
        disk: Read from and written to disks by its processes.
        caches: Size of the cache folders.
    """

    network: int = 0
    disk: int = 0
    caches: int = 0


class TrafficMeter(Protocol):
    """Tells how many bytes have moved."""

    def measure(self) -> Traffic:
        """Bytes so far."""
        ...


class ProcessTraffic:
    """Reads /proc of a container's processes, and the size of its caches.

    Args:
        main_pid: Pid of conmon, whose child is the container's first process.
        caches: Folders whose growth counts.
    """

    def __init__(self, main_pid: int, caches: Sequence[str]) -> None:
        self._main_pid = main_pid
        self._caches = caches

    def measure(self) -> Traffic:
        """Bytes so far."""
        first = next(iter(children(self._main_pid)), 0)
        return Traffic(
            network=received(first) if first and not _shares_network(first) else 0,
            disk=sum(disk_bytes(pid) for pid in tree(self._main_pid)),
            caches=sum(size(Path(folder)) for folder in self._caches),
        )


def moved(before: Traffic, now: Traffic, seconds: float) -> str:
    """What has moved enough to count as progress, in words; empty where nothing has.

    Args:
        before: The look that last counted.
        now: This look.
        seconds: Between the two.
    """
    network, disk = now.network - before.network, now.disk - before.disk
    caches = now.caches - before.caches
    if network >= max(_LEAST_NETWORK_RATE * seconds, 1):
        return f"receiving {_per_second(network, seconds)}"
    if caches >= _LEAST_DISK_BYTES:
        return f"caches grow {_per_second(caches, seconds)}"
    if disk >= _LEAST_DISK_BYTES:
        return f"disk {_per_second(disk, seconds)}"
    return ""


def received(pid: int) -> int:
    """Bytes received in a process's network namespace, without those from itself."""
    total = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]:
            name, _, rest = line.partition(":")
            if name.strip() != "lo":
                total += int(rest.split()[0])
    return total


def disk_bytes(pid: int) -> int:
    """Bytes that a process caused to be read from and written to disks; 0 where it may not be known."""
    with contextlib.suppress(OSError, ValueError):
        rows = dict(line.split(": ", 1) for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        return int(rows.get("read_bytes", 0)) + int(rows.get("write_bytes", 0))
    return 0


def size(folder: Path) -> int:
    """Bytes on disk below a folder, as far as this user may look."""
    total, seen, folders = 0, 0, [str(folder)]
    while folders and seen < _MOST_FILES:
        for entry in _entries(folders.pop()):
            seen += 1
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total


def _entries(folder: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _shares_network(pid: int) -> bool:
    # With the host's network its bytes are everybody's.
    try:
        return Path(f"/proc/{pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink()
    except OSError:
        return False


def _per_second(count: int, seconds: float) -> str:
    return f"{count / max(seconds, 1) / 1e6:.1f} MB/s"
