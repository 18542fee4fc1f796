"""What is missing for a start, found before the start: each as one finding with its remedy.

None of it stops an installation. Unit files can be written on a machine that gets its Podman, GPU or secrets
later.
"""

from __future__ import annotations

import errno
import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quadgen.deploy.machine import machine_findings, warning
from quadgen.errors import HostError
from quadgen.host.ports import is_address, listen_error, listener

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from quadgen.findings import Finding
    from quadgen.host.facts import Host
    from quadgen.host.run import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What one service needs of the machine.

    Args:
        service: Its name in the spec.
        cdi: Full CDI device names, such as `nvidia.com/gpu=0`.
        binds: Host folders and files that are mounted, and device nodes.
        listens: Host addresses with ports; an empty address means all, port 0 a random one.
        secrets: Names of Podman secrets.
        image: The image, where it is never pulled; else empty.
    """

    service: str
    cdi: tuple[str, ...] = ()
    binds: tuple[Path, ...] = ()
    listens: tuple[tuple[str, int], ...] = ()
    secrets: tuple[str, ...] = ()
    image: str = ""


def missing_for_start(
    runner: Runner, host: Host, needs: Sequence[Needs], *, running: Collection[str] = ()
) -> list[Finding]:
    """Everything that would make a start fail.

    Args:
        runner: Starts `podman`.
        host: The machine.
        needs: What each service needs.
        running: Services that run now: the ports that they hold are theirs.
    """
    found = [*machine_findings(host)]
    for need in needs:
        found += _missing_cdi(need, host)
        found += _missing_binds(need)
        if need.service not in running:
            found += _taken_ports(need)
    if host.podman:
        found += _missing_secrets(runner, needs)
        found += _missing_images(runner, needs)
    return found


def _missing_cdi(need: Needs, host: Host) -> Iterator[Finding]:
    known = {name for spec in host.cdi for name in spec.devices}
    for device in need.cdi:
        kind = device.partition("=")[0]
        # A spec that quadgen cannot read, though Podman may, proves nothing.
        unknown = any(not spec.denied and spec.names is None and spec.kind in {"", kind} for spec in host.cdi)
        if device not in known and not unknown:
            message, remedy = _why_no_device(device, kind, host)
            yield warning("no-cdi-device", message, remedy, need.service)


def _why_no_device(device: str, kind: str, host: Host) -> tuple[str, str]:
    make = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml" if kind == "nvidia.com/gpu" else ""
    siblings = sorted(name for spec in host.cdi if spec.kind == kind for name in spec.devices)
    if siblings:
        return f"no CDI device {device}; there are {', '.join(siblings)}", make or "correct the name"
    for spec in host.cdi:
        if spec.denied:
            remedy = f"sudo chmod a+rX {shlex.quote(str(spec.path))}"
            return f"no CDI device {device}: {spec.path} is {spec.problem}", remedy
    if any(spec.kind in {"", kind} for spec in host.cdi):
        return f"no CDI device {device}: its spec is empty, so the driver may not be loaded", make
    return (
        f"no CDI device {device}: there is no CDI spec of {kind}",
        f"install the vendor's container toolkit{make and ', then: ' + make}",
    )


def _missing_binds(need: Needs) -> Iterator[Finding]:
    for source in need.binds:
        try:
            source.stat()
        except PermissionError:
            yield warning("no-bind-source", f"{source} cannot be reached by this user", "", need.service)
        except OSError:
            yield warning(
                "no-bind-source",
                f"{source} does not exist, and Podman does not make it",
                _make(source),
                need.service,
            )


def _make(source: Path) -> str:
    if source.is_relative_to("/dev"):
        return "load the driver that makes the device, or take it out of the spec"
    # Env files and single files are written by hand; a folder's name seldom has an ending.
    return "write the file" if source.suffix else f"mkdir -p {shlex.quote(str(source))}"


def _taken_ports(need: Needs) -> Iterator[Finding]:
    for address, port in need.listens:
        if address and not is_address(address):
            continue
        number = listen_error(address, port)
        if number is not None:
            message, remedy = _why_no_port(number, address, port)
            yield warning("no-port", message, remedy, need.service)


def _why_no_port(number: int, address: str, port: int) -> tuple[str, str]:
    where = f"[{address}]:{port}" if ":" in address else f"{address or '*'}:{port}"
    if number == errno.EADDRINUSE:
        return f"{where} is already used by {listener(port)}", "stop that, or choose another port in `listen`"
    if number == errno.EADDRNOTAVAIL:
        return f"{where}: this machine has no such address", "correct the address in `listen`"
    if number == errno.EACCES:
        return (
            f"{where}: only root may use ports this low",
            f"choose a higher port, or: sudo sysctl net.ipv4.ip_unprivileged_port_start={port}",
        )
    return f"{where} cannot be used: {os.strerror(number)}", "choose another address in `listen`"


def _missing_secrets(runner: Runner, needs: Sequence[Needs]) -> Iterator[Finding]:
    if not any(need.secrets for need in needs):
        return
    try:
        text = runner.run(["podman", "secret", "ls", "--format", "{{.Name}}"]).check().stdout
    except HostError as error:
        yield warning("secrets-unknown", error.message, error.remedy)
        return
    there = set(text.split())
    for need in needs:
        for name in need.secrets:
            if name not in there:
                there.add(name)  # one finding is enough for several services
                yield warning(
                    "no-secret",
                    f"Podman has no secret {name}",
                    _create_secret(shlex.quote(name)),
                    need.service,
                )


def _create_secret(name: str) -> str:
    # Asks without an echo and adds no newline, whatever the shell.
    return f"systemd-ask-password -n {name} | podman secret create {name} -"


def _fetch(image: str) -> str:
    if image.startswith("localhost/"):
        return f"build it: podman build --tag {shlex.quote(image)} FOLDER"
    return f"podman pull {shlex.quote(image)}"


def _missing_images(runner: Runner, needs: Sequence[Needs]) -> Iterator[Finding]:
    for image in {need.image: need for need in needs if need.image}.values():
        try:
            there = runner.run(["podman", "image", "exists", image.image]).status == 0
        except HostError as error:
            yield warning("image-unknown", error.message, error.remedy, image.service)
            continue
        if not there:
            yield warning(
                "no-image",
                f"{image.image} is not on this machine, and `pull` forbids to fetch it",
                _fetch(image.image),
                image.service,
            )
