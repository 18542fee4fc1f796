"""Which folder holds quadgen's unit files, and which other folders systemd and Quadlet read.

Facts: `podman-systemd.unit(5)` and its source for Quadlet's folders (by release), `systemd.unit(5)` for the
order in which the user manager looks for units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quadgen.host.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quadgen.host.facts import Host

OWN_FOLDER = "quadgen"

# Before 4.7 Quadlet reads no sub-folders. Without Podman the units are made for a newer one.
_SUBFOLDERS_SINCE = (4, 7)
_RUNTIME_FOLDER_SINCE = (5, 3)


@dataclass(frozen=True, slots=True)
class Place:
    """Where unit files are installed.

    Args:
        base: The user's Quadlet folder.
        folder: quadgen's own folder: a sub-folder of `base`, or `base` itself where Quadlet reads no other.
        state: quadgen's state folder, with the lock.
    """

    base: Path
    folder: Path
    state: Path

    @property
    def flat(self) -> bool:
        """Whether quadgen's files lie beside the user's own."""
        return self.folder == self.base


@dataclass(frozen=True, slots=True)
class SearchFolder:
    """A folder that the user manager or its generator reads.

    Args:
        path: The folder.
        wins: A unit in it hides one of the same name that quadgen installs; else quadgen's hides it.
    """

    path: Path
    wins: bool


def place_for(host: Host) -> Place:
    """Where quadgen installs on this machine."""
    base = host.config_home / "containers/systemd"
    release = host.podman_release
    flat = release is not None and release < _SUBFOLDERS_SINCE
    return Place(base, base if flat else base / OWN_FOLDER, host.state_home / "quadgen")


def quadlet_folders(host: Host, place: Place, *, root: Path = ROOT) -> tuple[SearchFolder, ...]:
    """The Quadlet folders beside quadgen's own, in the order in which Quadlet reads them."""
    release = host.podman_release
    found: list[SearchFolder] = []
    if host.runtime_dir and (release is None or release >= _RUNTIME_FOLDER_SINCE):
        found.append(SearchFolder(host.runtime_dir / "containers/systemd", wins=True))
    found.append(SearchFolder(place.base, wins=True))
    users = root / "etc/containers/systemd/users"
    found += (SearchFolder(users, wins=False), SearchFolder(users / str(host.uid), wins=False))
    return tuple(found)


def systemd_folders(host: Host, *, root: Path = ROOT) -> Iterator[SearchFolder]:
    """The folders in which the user manager looks for plain units, seen from a generated one."""
    config = host.config_home / "systemd"
    winners = [config / "user.control", config / "user", root / "etc/systemd/user", root / "run/systemd/user"]
    if host.runtime_dir:
        runtime = host.runtime_dir / "systemd"
        winners += [runtime / "user.control", runtime / "transient", runtime / "user"]
    for folder in winners:
        yield SearchFolder(folder, wins=True)
    # The generator's output folder comes here.
    for folder in (host.home / ".local/share/systemd/user", root / "usr/local/lib/systemd/user"):
        yield SearchFolder(folder, wins=False)
    yield SearchFolder(root / "usr/lib/systemd/user", wins=False)
