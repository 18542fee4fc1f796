"""Which systemd service Quadlet makes of a unit file, and which resource name it gives."""

from __future__ import annotations

import re

# `podman-systemd.unit(5)`: the section that holds ServiceName=, the resource's own name key, and what is
# added to the file's name.
_KINDS = {
    ".container": ("Container", "ContainerName", ""),
    ".kube": ("Kube", "", ""),
    ".volume": ("Volume", "VolumeName", "-volume"),
    ".network": ("Network", "NetworkName", "-network"),
    ".image": ("Image", "ImageTag", "-image"),
    ".build": ("Build", "ImageTag", "-build"),
    ".pod": ("Pod", "PodName", "-pod"),
    ".artifact": ("Artifact", "Artifact", "-artifact"),
}


def is_quadlet(name: str) -> bool:
    """Whether Quadlet reads a file of that name."""
    return _split(name)[1] in _KINDS


def generated_service(name: str, text: str) -> str | None:
    """The service, such as `hf-cache-volume.service`; None for a file that Quadlet does not read."""
    stem, suffix = _split(name)
    if suffix not in _KINDS:
        return None
    section, _, ending = _KINDS[suffix]
    given = _value(text, section, "ServiceName")
    return f"{given or stem + ending}.service"


def volume_name(name: str, text: str) -> str | None:
    """The name of the Podman volume that a `.volume` file makes; None for other files."""
    stem, suffix = _split(name)
    if suffix != ".volume":
        return None
    return _value(text, "Volume", "VolumeName") or f"systemd-{stem}"


def _split(name: str) -> tuple[str, str]:
    stem, dot, suffix = name.rpartition(".")
    return stem, dot + suffix


def _value(text: str, section: str, key: str) -> str:
    """The last value of a key; quadgen's own files have no line continuations in these."""
    inside, found = False, ""
    for line in text.splitlines():
        if line.startswith("["):
            inside = line.strip() == f"[{section}]"
        elif inside and (match := re.match(rf"{key}\s*=(.*)", line)):
            found = match[1].strip().strip('"')
    return found
