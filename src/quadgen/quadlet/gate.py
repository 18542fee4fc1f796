"""What makes "started" mean "serving" on the host: the checks, the gate, the recorder and the watch.

systemd runs `ExecStartPost=` after the container has begun, and the unit is not started until it ends. Its
programs are installed with the units (`deploy.runtime`) and named by a path that stays when quadgen goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen import resources
from quadgen.quadlet.assignment import Assignment
from quadgen.quadlet.encode import encode_command
from quadgen.quadlet.header import WITH_THE_SERVICES, stamp
from quadgen.quadlet.readiness import mode
from quadgen.quadlet.version import PodmanVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.quadlet.target import Target
    from quadgen.spec.models import Service

# Below the user's data folder; `current` is a link to the version in force.
PROGRAM = "quadgen/probe/current/quadgen-probe"
WATCH_UNIT = "quadgen-watch@.service"
TEMPLATE = f"{WATCH_UNIT}.j2"
# Before 4.7 Quadlet reads no sub-folders, and quadgen's files lie beside the user's own.
_SUBFOLDERS = PodmanVersion(4, 7)
_COMMANDS = {"ExecStartPre": "prestart", "ExecStartPost": "gate", "ExecStopPost": "poststop"}


def wants_watch(service: Service, target: Target) -> Iterator[Assignment]:
    """The key of [Unit] that brings the watch along."""
    if mode(service, target) == "host":
        yield _raw(service, "Unit", "Wants", "quadgen-watch@%N.service")


def commands(service: Service, target: Target) -> Iterator[Assignment]:
    """The keys of [Service] that run the gate and its company."""
    if mode(service, target) == "host":
        for key, command in _COMMANDS.items():
            words = f"{program(target)} {command} {probe_file(target, service.name)}"
            yield _raw(service, "Service", key, words)


def program(target: Target) -> str:
    """The program of gate and watch, as a unit names it."""
    if target.data_home is None:
        return f"%h/.local/share/{PROGRAM}"
    return encode_command((f"{target.data_home}/{PROGRAM}",))


def probe_file(target: Target, name: str) -> str:
    """The probe file of a service, as a unit names it: `%E` is the configuration folder of the manager."""
    folder = "%E/containers/systemd" + ("" if target.podman < _SUBFOLDERS else "/quadgen")
    return f"{folder}/{name}.probe"


def watch_unit(target: Target) -> str:
    """The one unit of all watches, stamped as quadgen's."""
    template = (resources.folder("templates") / TEMPLATE).read_text(encoding="utf-8")
    body = template.replace("{{ program }}", program(target)).replace(
        "{{ probe_file }}", probe_file(target, "%i")
    )
    return stamp(body, spec=WITH_THE_SERVICES, services=())


def _raw(service: Service, section: str, key: str, text: str) -> Assignment:
    return Assignment(section, key, text, raw=True, path=("service", service.name, "probe", "mode"))
