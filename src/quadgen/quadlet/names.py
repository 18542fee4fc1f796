"""Keys that cannot stand in a unit file: unknown ones, and those that quadgen or the generator writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.quadlet.keys import find_key, key_names, section_names, section_since, systemd_since
from quadgen.quadlet.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quadgen.quadlet.assignment import Assignment

# What the user's own text may not set, with what to do instead.
OWNED = {
    ("Container", "ContainerName"): "the container has the service's name: rename the service",
    ("Container", "Exec"): "write vLLM's options in [service.NAME.serve]",
    ("Container", "Image"): "write image = … in the service",
    ("Container", "Rootfs"): "write image = … in the service",
    ("Container", "ServiceName"): "rename the service",
    ("Service", "BusName"): "leave it out: readiness comes from Podman",
    ("Service", "Delegate"): "leave it out: Podman needs Delegate=yes and writes it",
    ("Service", "DynamicUser"): "leave it out: the units run as the user who installs them",
    ("Service", "ExecStart"): "write vLLM's options in [service.NAME.serve]",
    ("Service", "Group"): "leave it out: the units run as the user who installs them",
    ("Service", "NotifyAccess"): "leave it out: Podman needs NotifyAccess=all and writes it",
    ("Service", "PIDFile"): "leave it out: Podman tells systemd the main process",
    ("Service", "Type"): "leave it out: Podman needs Type=notify and writes it",
    ("Service", "User"): "leave it out: the units run as the user who installs them",
    ("Unit", "SourcePath"): "leave it out: Podman writes it",
}


def check_section(name: str) -> None:
    """Refuse a section that no unit file of quadgen has.

    Raises:
        Refusal: With the likeliest name.
    """
    if name not in section_names():
        raise Refusal("unknown-key", f"there is no section [{name}]", _did_you_mean(name, section_names()))


def check_name(one: Assignment) -> None:
    """Refuse a key that the section does not have, or that is not the user's to set.

    Raises:
        Refusal: With the likeliest name, the right section, or the spec's own key.
    """
    if one.raw and (one.section, one.key) in OWNED:
        raise Refusal(
            "owned-key",
            f"{one.key} in [{one.section}] is not for the spec to set",
            OWNED[one.section, one.key],
        )
    if _is_known(one.section, one.key):
        return
    reader = "Podman" if section_since(one.section) else "systemd"
    message = f"{reader} knows no {one.key} in [{one.section}]"
    if one.key == "Also":
        raise Refusal("unknown-key", f"Podman does nothing for {one.key} in [{one.section}]", "leave it out")
    remedy = _did_you_mean(one.key, key_names(one.section))
    homes = [section for section in section_names() if section != one.section and _is_known(section, one.key)]
    if homes:
        remedy = f"it belongs into [{homes[0]}]"
    raise Refusal("unknown-key", message, remedy)


def _is_known(section: str, name: str) -> bool:
    if section_since(section):
        return find_key(section, name) is not None
    # systemd leaves names that begin with X- alone.
    return name.startswith("X-") or systemd_since(section, name) is not None


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  for errors only

    lowered = {other.lower(): other for other in known}
    close = get_close_matches(name.lower(), lowered, n=1)
    return f"did you mean {lowered[close[0]]}?" if close else "leave it out"
