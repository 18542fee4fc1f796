"""What can only be judged with several keys, or several services, in sight."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from quadgen.findings import Finding, Severity
from quadgen.spec import neighbours

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.findings import KeyPath
    from quadgen.spec.models import Service, Spec
    from quadgen.spec.quantities import Listen


def findings(spec: Spec) -> list[Finding]:
    """All findings about keys that don't go together."""
    found: list[Finding] = []
    for service in spec.services:
        for check in (
            _memory, _network, _image, _update, _groups, _pod, _exposure, _window, _draining, _mounts, _socket
        ):  # fmt: skip
            found.extend(check(service))
    found.extend(_ports(spec))
    found.extend(neighbours.findings(spec))
    return found


def _of(
    service: Service, key: str, code: str, message: str, remedy: str, *, severity: Severity = "error"
) -> Finding:
    path: KeyPath = ("service", service.name, *key.split("/"))
    return Finding(severity=severity, code=code, message=message, remedy=remedy, path=path)


def _memory(service: Service) -> Iterator[Finding]:
    if service.shm_size and service.ipc == "host":
        yield _of(
            service,
            "shm-size",
            "shm-with-host-ipc",
            'shm-size and ipc = "host" exclude each other',
            "keep shm-size; host IPC gives the container the host's shared memory",
        )


def _network(service: Service) -> Iterator[Finding]:
    for mode in ("host", "none"):
        if mode in service.network and len(service.network) > 1:
            yield _of(
                service,
                "network",
                "network-alone",
                f'network "{mode}" can\'t be one of several',
                "keep it alone, or leave it out",
            )
    if service.network == ("none",) and service.listen:
        yield _of(
            service,
            "network",
            "no-way-in",
            "without a network nobody reaches the server",
            "leave network out, or set listen = []",
        )
    if service.host_network and len(service.listen) != 1:
        yield _of(
            service,
            "listen",
            "one-address",
            "on the host's network the server listens at one address",
            "name exactly one",
        )
    if service.host_network and service.listen and service.listen[0].port is None:
        yield _of(
            service,
            "listen",
            "no-random-port",
            "on the host's network no port can be picked",
            "write the port",
        )
    for key in ("host", "port"):
        if key in service.serve:
            yield _of(
                service,
                f"serve/{key}",
                "owned-option",
                f"{key} follows from listen",
                'remove it, and set listen = "ADDRESS:PORT"',
            )


def _image(service: Service) -> Iterator[Finding]:
    if any(blank in service.image for blank in " \t"):
        yield _of(
            service,
            "image",
            "bad-image",
            f'"{service.image}" has a blank in it',
            "write it like docker.io/vllm/vllm-openai:v0.33.0",
        )
    elif "/" not in service.image and not service.image.endswith(".image"):
        yield _of(
            service,
            "image",
            "short-image-name",
            f'"{service.image}" names no registry: which one is asked depends on the machine',
            "write it like docker.io/vllm/vllm-openai:v0.33.0, or localhost/NAME for an image built here",
            severity="warning",
        )
    if service.auto_update and "@sha256:" in service.image:
        yield _of(
            service,
            "auto-update",
            "pinned-image",
            "an image pinned by digest never updates",
            "leave auto-update out, or name a tag",
        )
    if service.auto_update == "registry" and service.offline:
        yield _of(
            service,
            "auto-update",
            "offline-update",
            "offline = true keeps the registry away",
            'use auto-update = "local"',
        )


def _update(service: Service) -> Iterator[Finding]:
    if service.auto_update and service.probe.mode == "off":
        yield _of(
            service,
            "auto-update",
            "update-without-gate",
            "without a probe Podman takes every new image for a good one and never goes back",
            'leave probe.mode at "host", or auto-update out',
        )


def _groups(service: Service) -> Iterator[Finding]:
    if "keep-groups" in service.groups and len(service.groups) > 1:
        yield _of(
            service, "groups", "keep-groups-alone", "keep-groups can't be one of several", "keep it alone"
        )
    if service.accelerator == "none" and service.gpus not in ((), ("all",)):
        yield _of(
            service, "gpus", "gpu-without-accelerator", 'accelerator = "none" takes no GPU', "leave gpus out"
        )


def _pod(service: Service) -> Iterator[Finding]:
    if "Pod" in service.quadlet.container and service.listen:
        yield _of(
            service,
            "listen",
            "ports-of-a-pod",
            "in a pod the pod publishes the ports",
            "set listen = [], and publish in the .pod file",
        )


def _exposure(service: Service) -> Iterator[Finding]:
    wide = [listen for listen in service.listen if not listen.loopback]
    if wide and service.api_key:
        yield _of(
            service,
            "listen",
            "partly-guarded",
            f"{wide[0]} can be reached from other machines, and the key guards only /v1 and a few paths more",
            "put a reverse proxy before it: /invocations, /tokenize and /metrics answer without the key",
            severity="note",
        )
    elif wide:
        yield _of(
            service,
            "listen",
            "open-to-the-network",
            f"{wide[0]} can be reached from other machines, and no api-key guards it",
            "set api-key to the name of a Podman secret, or listen on 127.0.0.1",
            severity="warning",
        )


def _window(service: Service) -> Iterator[Finding]:
    restart = service.restart
    shortest = restart.attempts * restart.delay
    if restart.window is not None and restart.window <= shortest:
        yield _of(
            service,
            "restart/window",
            "window-too-short",
            f"{restart.attempts} attempts, {restart.delay} s apart, never fit into {restart.window} s:"
            " the limit is never reached",
            f"raise window well above {shortest} s, or leave it out",
        )


def _draining(service: Service) -> Iterator[Finding]:
    drain = service.serve.get("shutdown-timeout")
    if service.stop_timeout and isinstance(drain, int) and service.stop_timeout <= drain:
        yield _of(
            service,
            "stop-timeout",
            "drain-cut-off",
            f"Podman kills the server after {service.stop_timeout} s, and it may drain for {drain} s",
            f"raise stop-timeout above {drain}, or leave it out: it follows shutdown-timeout",
        )


def _socket(service: Service) -> Iterator[Finding]:
    uds = service.serve.get("uds")
    mounted = isinstance(uds, str) and any(
        volume.bind and uds.startswith(f"{volume.target}/") for volume in service.volumes
    )
    if uds and service.probe.mode == "host" and not mounted:
        yield _of(
            service,
            "serve/uds",
            "socket-inside",
            f"the socket {uds} is in the container alone, so nobody looks after the server",
            'mount its folder from the host, such as volumes = ["~/sockets:/sockets"]',
            severity="warning",
        )


def _mounts(service: Service) -> Iterator[Finding]:
    targets = [volume.target for volume in service.volumes]
    for index, target in enumerate(targets):
        if target in targets[:index]:
            yield _of(
                service, "volumes", "target-twice", f"two volumes are mounted at {target}", "keep one of them"
            )


def _ports(spec: Spec) -> Iterator[Finding]:
    bound = [(service, listen) for service in spec.services for listen in service.listen]
    for (one, first), (other, second) in combinations(_by_port(bound), 2):
        if first.overlaps(second):
            where = "twice" if one is other else f"by {one.name}, too"
            yield _of(
                other,
                "listen",
                "port-twice",
                f"{second} is used {where}",
                "give each service a port of its own",
            )


def _by_port(bound: list[tuple[Service, Listen]]) -> Iterator[tuple[Service, Listen]]:
    """Only those whose port somebody else has, too: pairs of all would be too many."""
    counts: dict[int | None, int] = {}
    for _, listen in bound:
        counts[listen.port] = counts.get(listen.port, 0) + 1
    return ((service, listen) for service, listen in bound if listen.port and counts[listen.port] > 1)
