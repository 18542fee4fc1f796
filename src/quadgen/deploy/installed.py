"""What lies in the Quadlet folders now: quadgen's own files, other people's, and rival units."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quadgen.deploy.place import quadlet_folders, systemd_folders
from quadgen.errors import DeployError
from quadgen.host.paths import ROOT
from quadgen.host.services import generated_service, is_quadlet
from quadgen.quadlet.header import BUILT_IN, Header, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.deploy.place import Place, SearchFolder
    from quadgen.host.facts import Host


@dataclass(frozen=True, slots=True)
class InstalledFile:
    """A file in quadgen's folder.

    Args:
        path: Where it lies.
        text: Its content; bytes that are not UTF-8 are surrogates.
        header: What quadgen wrote at its top; None for a file that is not quadgen's.
        link: It is a symbolic link to a file elsewhere.
    """

    path: Path
    text: str
    header: Header | None
    link: bool = False

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class Rival:
    """A unit that may stand for the same service as one of quadgen's.

    Args:
        path: Its file.
        service: The service that it is, or that Quadlet makes of it.
        wins: It hides quadgen's; else quadgen's hides it.
        text: Its content, for a Quadlet file; empty for a plain unit.
        masks: It is an empty unit that forbids the service to start.
    """

    path: Path
    service: str
    wins: bool
    text: str = ""
    masks: bool = False


@dataclass(frozen=True, slots=True)
class Installed:
    """What is installed.

    Args:
        place: quadgen's folder.
        files: All regular files in it, by name.
        earlier: quadgen's files beside its folder: a Podman before 4.7 read them there.
        rivals: Units elsewhere.
        gone: Specs named in headers that are no longer there.
    """

    place: Place
    files: tuple[InstalledFile, ...] = ()
    earlier: tuple[InstalledFile, ...] = ()
    rivals: tuple[Rival, ...] = ()
    gone: frozenset[str] = frozenset()

    @property
    def own(self) -> tuple[InstalledFile, ...]:
        """The files that quadgen wrote."""
        return tuple(file for file in self.files if file.header)


def scan(place: Place, host: Host, *, root: Path = ROOT) -> Installed:
    """Read what is installed; nothing is changed.

    Raises:
        DeployError: A folder or one of quadgen's files cannot be read.
    """
    try:
        files = tuple(_files(place.folder))
        earlier = () if place.flat else tuple(file for file in _files(place.base) if file.header)
        rivals = (*_quadlet_rivals(place, host, root), *_plain_rivals(host, root))
    except OSError as error:
        raise DeployError(
            f"{error.filename}: {error.strerror}", "let your user own and read it, then try again"
        ) from None
    return Installed(place, files, earlier, rivals, _gone_specs(*files, *earlier))


def _files(folder: Path) -> Iterator[InstalledFile]:
    try:
        paths = sorted(folder.iterdir())
    except FileNotFoundError:
        return
    for path in paths:
        if path.is_file():
            text = path.read_bytes().decode("utf-8", "surrogateescape")
            yield InstalledFile(path, text, read(text), path.is_symlink())


def _gone_specs(*files: InstalledFile) -> frozenset[str]:
    specs = {file.header.spec for file in files if file.header}
    return frozenset(spec for spec in specs if not spec.startswith(BUILT_IN) and not Path(spec).exists())


def _quadlet_rivals(place: Place, host: Host, root: Path) -> Iterator[Rival]:
    for folder in quadlet_folders(host, place, root=root):
        for path, wins in _quadlet_files(folder, place):
            try:
                text = path.read_bytes().decode("utf-8", "surrogateescape")
            except OSError:  # Quadlet, which runs as the same user, cannot read it either
                continue
            service = generated_service(path.name, text)
            ours = path.parent == place.folder and read(text)
            if service and not ours:
                yield Rival(path, service, wins, text)


def _quadlet_files(folder: SearchFolder, place: Place) -> Iterator[tuple[Path, bool]]:
    """Quadlet files of a search folder outside quadgen's own, and whether each wins over quadgen's."""
    for top, folders, names in os.walk(folder.path):
        # Quadlet walks in this order, and skips drop-in folders; where it reads no sub-folders, none.
        folders[:] = [] if place.flat else sorted(name for name in folders if not name.endswith(".d"))
        here = Path(top)
        wins = folder.wins and (here == folder.path or folder.path != place.base or here <= place.folder)
        yield from ((here / name, wins) for name in sorted(names) if is_quadlet(name))


def _plain_rivals(host: Host, root: Path) -> Iterator[Rival]:
    for folder in systemd_folders(host, root=root):
        try:
            paths = sorted(folder.path.iterdir())
        except OSError:
            continue
        for path in paths:
            if path.name.endswith(".service"):
                yield Rival(path, path.name, folder.wins, masks=_masks(path))


def _masks(path: Path) -> bool:
    # systemd takes a link to /dev/null and an empty file for the same thing.
    try:
        return path.resolve() == Path(os.devnull) or path.stat().st_size == 0
    except OSError:
        return False
