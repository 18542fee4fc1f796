"""The sections that systemd reads: [Unit], [Service], [Install], and Quadlet's own [Quadlet]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.quadlet import gate
from quadgen.quadlet.assignment import Assignment
from quadgen.quadlet.container import needs_network_at_start
from quadgen.quadlet.readiness import mode
from quadgen.quadlet.version import PodmanVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.quadlet.assignment import Value
    from quadgen.quadlet.target import Target
    from quadgen.spec.models import Service

# Creating the container, and pulling the image when it is missing, come before the server's own start.
_PULL_SECONDS = 900
# After its last word to systemd a gate has this long.
_GATE_MARGIN = 60
_STOP_SECONDS = 10  # Podman's default
# A stop that fails is followed by SIGKILL and by removing the container.
_STOP_MARGIN = 30
# How a container ends that does not hear the SIGTERM of a stop: no failure. It is restarted all the same.
_KILLED = 137
_GROWING_DELAY = 254  # systemd's NEWS: RestartSteps= and RestartMaxDelaySec=
_DELAY_STEPS = 5
_QUADLET_SECTION = PodmanVersion(5, 3)


def unit(service: Service, target: Target) -> Iterator[Assignment]:
    """The keys of [Unit]."""
    yield _set(service, "Unit", "Description", f"vLLM serving {service.names[0]}")
    for key, names in (("Requires", service.requires), ("After", service.after + service.requires)):
        if names:
            yield _set(service, "Unit", key, tuple(dict.fromkeys(names)), key.lower())
    yield from gate.wants_watch(service, target)
    window = start_limit_window(service, target)
    yield _set(service, "Unit", "StartLimitIntervalSec", window, "restart", "window")
    yield _set(service, "Unit", "StartLimitBurst", service.restart.attempts, "restart", "attempts")


def supervision(service: Service, target: Target) -> Iterator[Assignment]:
    """The keys of [Service]."""
    restart = service.restart
    # A vLLM whose engine has died ends with exit status 0 (vllm#48966), so on-failure would leave it down.
    yield _set(service, "Service", "Restart", "always")
    yield _set(service, "Service", "RestartSec", restart.delay, "restart", "delay")
    if (target.systemd or 0) >= _GROWING_DELAY and restart.max_delay > restart.delay:
        yield _set(service, "Service", "RestartSteps", _DELAY_STEPS)
        yield _set(service, "Service", "RestartMaxDelaySec", restart.max_delay, "restart", "max-delay")
    start = start_seconds(service, target)
    yield _set(service, "Service", "TimeoutStartSec", start, "probe", "startup-timeout")
    yield _set(service, "Service", "TimeoutStopSec", stop_seconds(service) + _STOP_MARGIN, "stop-timeout")
    yield _set(service, "Service", "SuccessExitStatus", _KILLED)
    if service.slice:
        yield _set(service, "Service", "Slice", service.slice, "slice")
    for command in service.pre_start:
        yield _set(service, "Service", "ExecStartPre", command, "pre-start")
    yield from gate.commands(service, target)


def stop_timeout(service: Service) -> Assignment:
    """The key of [Container] that says how long Podman waits for the server to end."""
    return _set(service, "Container", "StopTimeout", stop_seconds(service), "stop-timeout")


def install(service: Service) -> Iterator[Assignment]:
    """The keys of [Install]."""
    if service.start_on_boot:
        yield _set(service, "Install", "WantedBy", ("default.target",))


def dependencies(service: Service, target: Target) -> Iterator[Assignment]:
    """What keeps a service that fetches nothing at its start from waiting for the network."""
    return iter(()) if needs_network_at_start(service) else offline(target)


def offline(target: Target) -> Iterator[Assignment]:
    """The key of [Quadlet] for a unit that needs no network.

    A user's units wait up to 90 s for a network that nothing on the host may ever bring up
    (podman#24796), so those that need none do not ask for it.
    """
    if target.podman >= _QUADLET_SECTION:
        yield Assignment("Quadlet", "DefaultDependencies", value=False)


def stop_seconds(service: Service) -> int:
    """Seconds that a server may take to end: what it drains, and a little."""
    drain = service.serve.get("shutdown-timeout", 0)
    return service.stop_timeout or _STOP_SECONDS + (drain if isinstance(drain, int) else 0)


def start_seconds(service: Service, target: Target) -> int:
    """Seconds that each command of a start may take.

    The gate counts `startup-timeout` itself, and asks systemd for more time while there is progress. So
    systemd only waits for the image's download, and for a gate that has to see a stall.
    """
    if mode(service, target) == "host":
        return max(_PULL_SECONDS, service.probe.stall_timeout) + _GATE_MARGIN
    return service.probe.startup_timeout + _PULL_SECONDS


def start_limit_window(service: Service, target: Target) -> int:
    """Seconds within which the attempts count: by default all of them at their slowest fit.

    A window that is too short lets slow attempts drop out of it one by one: the limit is never reached.
    """
    one_command = start_seconds(service, target)
    slowest = one_command * (1 + len(service.pre_start))
    if mode(service, target) == "host":
        loading = service.probe.startup_timeout + _GATE_MARGIN
        # Another service may load onto the card first.
        slowest += 2 * service.probe.wait_timeout + 2 * loading
    slowest += stop_seconds(service) + _STOP_MARGIN + service.restart.max_delay
    return service.restart.window or service.restart.attempts * slowest


def _set(service: Service, section: str, key: str, value: Value, *place: str) -> Assignment:
    return Assignment(section, key, value, path=("service", service.name, *place))
