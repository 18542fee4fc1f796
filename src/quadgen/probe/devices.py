"""Devices that may come late at boot: a user unit cannot order itself after the system's CDI refresh."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPECS = (".yaml", ".yml", ".json")
# Specs of many cards and their libraries have some 100 kB.
_LARGEST = 8 << 20


def absent(devices: Iterable[str], cdi_dirs: Sequence[str]) -> list[str]:
    """Those devices, CDI names or host paths, that are not there yet."""
    missing, specs = [], None
    for device in devices:
        if device.startswith("/"):
            if not Path(device.partition(":")[0]).exists():
                missing.append(device)
            continue
        specs = _specs(cdi_dirs) if specs is None else specs
        if not any(_names(spec, device) for spec in specs):
            missing.append(device)
    return missing


def _specs(folders: Sequence[str]) -> list[str]:
    found = []
    for folder in folders:
        try:
            files = sorted(path for path in Path(folder).iterdir() if path.suffix in _SPECS)
        except OSError:
            continue
        found += [text for path in files if (text := _text(path))]
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size < _LARGEST else ""
    except OSError:
        # Not readable by this user, so not by its Podman either.
        return ""


def _names(spec: str, device: str) -> bool:
    """Whether a spec, YAML or JSON, has a device; `kind` and `name` stand for nothing else in one."""
    kind, _, name = device.partition("=")
    return _has(spec, "kind", kind) and _has(spec, "name", name)


def _has(spec: str, key: str, value: str) -> bool:
    pattern = rf"(?m)(?:^|[\s{{,-])[\"']?{key}[\"']?\s*:\s*[\"']?{re.escape(value)}[\"']?\s*(?:[,}}#]|$)"
    return re.search(pattern, spec) is not None
