"""The installed services, read from their own files: the spec may have moved on since."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quadgen.deploy.place import OWN_FOLDER
from quadgen.host.paths import home_folder, xdg_folder
from quadgen.probe.probefile import ProbeFile, ProbeFileError, load
from quadgen.probe.state import folder as state_folder
from quadgen.quadlet import header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_UNIT, PROBE_FILE = ".container", ".probe"
_EXEC = re.compile(r'^Exec=(?:"((?:[^"\\]|\\.)*)"|(\S+))', re.MULTILINE)
_CHECK = re.compile(r"^HealthCmd=(?!none$)", re.MULTILINE)
_CONTAINER = re.compile(r"^ContainerName=(.+)$", re.MULTILINE)
_PORT = re.compile(r"^PublishPort=(.*):\d+$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledService:
    """One service as its files tell.

    Args:
        name: Name in the spec.
        path: Its Quadlet file; None for one whose file is gone and whose history is not.
        probe: Its probe file; None where it has none, or one that cannot be read.
        problem: Why the probe file cannot be read.
        model: Id or path of its model, empty where the files do not tell.
        address: Where it answers, such as `127.0.0.1:8000`, or the path of its socket.
        checked: Its container, where Podman itself checks the health of it; else empty.
    """

    name: str
    path: Path | None = None
    probe: ProbeFile | None = None
    problem: str = ""
    model: str = ""
    address: str = ""
    checked: str = ""

    @property
    def unit(self) -> str:
        """Its systemd unit."""
        return f"{self.name}.service"

    @property
    def watch(self) -> str:
        """The unit of its watch."""
        return f"quadgen-watch@{self.name}.service"


def installed_services(env: Mapping[str, str]) -> tuple[InstalledService, ...]:
    """All installed services, by name."""
    return tuple(_service(name, path, text) for name, (path, text) in sorted(_unit_files(env).items()))


def installed_names(env: Mapping[str, str]) -> list[str]:
    """The names of the installed services, for a shell that completes them."""
    return sorted(_unit_files(env))


def remembered_names(env: Mapping[str, str]) -> list[str]:
    """The services that have a history, installed or not."""
    try:
        return sorted(path.name for path in state_folder(env).iterdir() if path.is_dir())
    except OSError:
        return []


def _unit_files(env: Mapping[str, str]) -> dict[str, tuple[Path, str]]:
    """Service to its file and text.

    Which of the two folders it is depends on Podman's release, and asking for that would take longer than
    all the rest; the header tells whose a file is.
    """
    base = xdg_folder(env, "XDG_CONFIG_HOME", home_folder(env) / ".config") / "containers/systemd"
    found: dict[str, tuple[Path, str]] = {}
    for folder in (base, base / OWN_FOLDER):
        for path in _listed(folder):
            text = _text(path)
            told = header.read(text) if text is not None else None
            if text is not None and told is not None and told.services == (path.stem,):
                found[path.stem] = (path, text)
    return found


def _listed(folder: Path) -> Iterator[Path]:
    try:
        yield from (path for path in folder.iterdir() if path.suffix == _UNIT)
    except OSError:
        return


def _service(name: str, path: Path, text: str) -> InstalledService:
    file = path.with_suffix(PROBE_FILE)
    probe, problem = None, ""
    if file.exists():
        try:
            probe = load(file)
        except ProbeFileError as error:
            problem = error.message
    return InstalledService(
        name=name,
        path=path,
        probe=probe,
        problem=problem,
        model=probe.models[0] if probe and probe.models else _model(text),
        address=address_of(probe) if probe else ", ".join(_PORT.findall(text)),
        checked="" if probe or not _CHECK.search(text) else _container(name, text),
    )


def _container(name: str, text: str) -> str:
    found = _CONTAINER.search(text)
    return found[1] if found else f"systemd-{name}"


def address_of(probe: ProbeFile) -> str:
    """Where a service answers, as people type it."""
    server = probe.server
    return server.uds or server.url.removeprefix("http://") + server.root_path


def _model(text: str) -> str:
    """The first word of the command line: quadgen writes the model there."""
    found = _EXEC.search(text)
    if not found:
        return ""
    word = re.sub(r"\\(.)", r"\1", found[1]) if found[1] is not None else found[2]
    return str(word).replace("%%", "%").replace("$$", "$")


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None
