"""Which CDI devices Podman would find, by name.

A CDI spec is JSON or YAML. JSON is read in full. For YAML there is no parser in the standard library, and
only two things are wanted: `kind` and the names under `devices`. They are read from the block layout that
all known generators of specs write (nvidia-ctk, the AMD and Intel tools); a spec in any other layout is
reported as one whose names are unknown, never as one without devices.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quadgen.host.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class CdiSpec:
    """One CDI spec file.

    Args:
        path: The file.
        kind: Such as `nvidia.com/gpu`; empty where it could not be read.
        names: Names of its devices; None where they could not be read.
        problem: Why, in a few words.
        denied: This user may not read it, and so Podman may not either.
    """

    path: Path
    kind: str = ""
    names: tuple[str, ...] | None = None
    problem: str = ""
    denied: bool = False

    @property
    def devices(self) -> tuple[str, ...]:
        """Full device names, such as `nvidia.com/gpu=0`."""
        return tuple(f"{self.kind}={name}" for name in self.names or ())


def spec_folders(config_home: Path, *, root: Path = ROOT) -> tuple[Path, ...]:
    """The folders that Podman searches for CDI specs.

    `cdi_spec_dirs` of containers.conf(5) replaces the default; of several files the last that sets it wins.
    """
    found: tuple[Path, ...] = (root / "etc/cdi", root / "var/run/cdi")
    for file in _containers_confs(config_home, root):
        folders = _cdi_spec_dirs(file)
        if folders is not None:
            found = folders
    return found


def read_cdi_specs(folders: Sequence[Path]) -> tuple[CdiSpec, ...]:
    """Every spec of some folders, the unreadable ones included."""
    files: list[Path] = []
    specs: list[CdiSpec] = []
    for folder in folders:
        try:
            entries = sorted(folder.iterdir())
        except PermissionError:
            specs.append(CdiSpec(folder, problem="not readable by this user", denied=True))
        except OSError:
            continue  # a folder that is not there holds no specs
        else:
            files += [file for file in entries if file.suffix in {".json", ".yaml", ".yml"}]
    return (*specs, *(_read_spec(file) for file in files))


def _read_spec(file: Path) -> CdiSpec:
    try:
        text = file.read_text(encoding="utf-8")
    except PermissionError:
        return CdiSpec(file, problem="not readable by this user", denied=True)
    except (OSError, UnicodeDecodeError) as error:
        return CdiSpec(file, problem=f"unreadable: {error}")
    if not text.strip():
        return CdiSpec(file, names=(), problem="empty")
    # JSON is also YAML, so a file of either name may hold it.
    return _from_json(file, text) if text.lstrip().startswith("{") else _from_yaml(file, text)


def _from_json(file: Path, text: str) -> CdiSpec:
    try:
        spec = json.loads(text)
        return CdiSpec(
            file, str(spec["kind"]), tuple(str(device["name"]) for device in spec["devices"] or ())
        )
    except (ValueError, KeyError, TypeError):
        return CdiSpec(file, problem="not a CDI spec in JSON")


def _from_yaml(file: Path, text: str) -> CdiSpec:
    kind = re.search(r"^[\"']?kind[\"']?:[ \t]+(\S.*)$", text, re.MULTILINE)
    names = _yaml_device_names(text)
    if kind is None or names is None:
        return CdiSpec(file, problem="a layout that quadgen cannot read")
    return CdiSpec(file, _scalar(kind[1]), names)


def _yaml_device_names(text: str) -> tuple[str, ...] | None:
    """The `name` of each item of the block sequence `devices`; None where that is no such sequence."""
    items = 0
    names: list[str] = []
    item_indent = key_indent = -1
    for indent, line in _devices_block(text):
        dash = re.match(r"-[ \t]+", line)
        if item_indent < 0:
            if dash is None:
                return None
            item_indent = indent
        if dash is not None and indent == item_indent:
            items += 1
            key_indent = indent + len(dash[0])
            indent, line = key_indent, line[len(dash[0]) :]  # noqa: PLW2901 - the item's first key
        elif items == 0:
            return None
        if indent == key_indent and (name := re.match(r"name:[ \t]+(\S.*)$", line)):
            names.append(_scalar(name[1]))
    return tuple(names) if len(names) == items and (items or _no_devices(text)) else None


def _devices_block(text: str) -> Iterator[tuple[int, str]]:
    """Indentation and text of each line below the top-level key `devices:`."""
    inside = False
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        indent = len(raw) - len(raw.lstrip(" "))
        # A sequence may stand at its key's own indentation, so a dash does not end the block.
        if indent == 0 and not line.startswith("- "):
            inside = re.match(r"[\"']?devices[\"']?:[ \t]*(#.*)?$", line) is not None
        elif inside:
            yield indent, line


def _no_devices(text: str) -> bool:
    return re.search(r"^devices:[ \t]*(\[\s*\]|null|~)?[ \t]*$", text, re.MULTILINE) is not None


def _scalar(text: str) -> str:
    text = text.strip()
    if text[:1] in {'"', "'"}:
        return text[1 : text.find(text[0], 1)]
    return re.split(r"\s#", text, maxsplit=1)[0].strip()


def _containers_confs(config_home: Path, root: Path) -> Iterator[Path]:
    yield root / "usr/share/containers/containers.conf"
    for folder in (root / "etc/containers", config_home / "containers"):
        yield folder / "containers.conf"
        yield from sorted((folder / "containers.conf.d").glob("*.conf"))


def _cdi_spec_dirs(file: Path) -> tuple[Path, ...] | None:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if "cdi_spec_dirs" not in text:
        return None
    import tomllib  # noqa: PLC0415 - nearly no machine sets it

    try:
        folders = tomllib.loads(text).get("engine", {}).get("cdi_spec_dirs")
        return None if folders is None else tuple(Path(folder) for folder in folders)
    except (tomllib.TOMLDecodeError, AttributeError, TypeError):
        return None
