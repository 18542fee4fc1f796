"""How all installed services are: by their files, one question to systemd, and what the probe wrote down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quadgen.deploy.condition import Condition, Seen, condition
from quadgen.deploy.health import healths
from quadgen.deploy.live import LiveUnit, live_units
from quadgen.deploy.services import InstalledService, installed_services, remembered_names
from quadgen.errors import HostError
from quadgen.findings import Finding
from quadgen.probe.state import ServiceState, folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from quadgen.deploy.health import Health
    from quadgen.host.run import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """One service.

    Args:
        service: What its files tell.
        condition: How it is.
        unit: What systemd says of it; None where systemd does not answer.
        watcher: What systemd says of its watch.
        starts: Its last starts, oldest first.
        watch: What its watch wrote last.
        health: What Podman's own check says, where it is that which looks.
    """

    service: InstalledService
    condition: Condition
    unit: LiveUnit | None
    watcher: LiveUnit | None
    starts: Sequence[Mapping[str, Any]]
    watch: Mapping[str, Any]
    health: Health | None = None

    @property
    def restarts(self) -> int | None:
        """How often systemd started it anew since somebody started it.

        NRestarts also counts the start that the limit refused.
        """
        return max(0, self.unit.restarts - self.condition.limited) if self.unit else None

    def to_json(self) -> dict[str, Any]:
        """The service as `--json` prints it."""
        service, unit = self.service, self.unit
        return {
            "service": service.name,
            "state": self.condition.state,
            "good": self.condition.good,
            "evidence": self.condition.evidence,
            "since": self.condition.since,
            "restarts": self.restarts,
            "model": service.model,
            "names": list(service.probe.server.names) if service.probe else [],
            "address": service.address,
            "file": str(service.path) if service.path else None,
            "unit": _unit_json(unit) if unit else None,
            "watch": {
                "unit": _unit_json(self.watcher) if self.watcher else None,
                "looked": self.watch.get("looked"),
                "verdicts": self.watch.get("verdicts", []),
                "kills": self.watch.get("kills", []),
            },
            "starts": list(self.starts),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All services that were asked for, by name, and what else is to be told."""

    services: tuple[ServiceStatus, ...]
    findings: tuple[Finding, ...] = ()


def report(runner: Runner, env: Mapping[str, str], names: Collection[str] = (), *, now: float) -> Report:
    """Look at the installed services.

    Args:
        runner: Starts `systemctl` once, and `podman` once where it is Podman that checks a service.
        env: The environment of the command.
        names: The services wanted, installed or remembered; none means all.
        now: Seconds since 1970.
    """
    services = [one for one in _known(env) if not names or one.name in names]
    units, findings = _ask(runner, env, services)
    checked = [s.checked for s in services if s.checked and s.unit in units and units[s.unit].running]
    health = healths(runner, checked)
    place = folder(env)
    found = []
    for service in services:
        one = _status(service, ServiceState(place, service.name), units, health.get(service.checked), now)
        gone = service.path is None and not (one.unit and one.unit.running)
        if names or not gone:
            found.append(one)
            findings += _findings(one, now)
    return Report(services=tuple(found), findings=tuple(findings))


def _known(env: Mapping[str, str]) -> list[InstalledService]:
    """The installed services, and those of which only a history is left: they may still run."""
    installed = installed_services(env)
    gone = sorted(set(remembered_names(env)) - {service.name for service in installed})
    return [*installed, *(InstalledService(name=name) for name in gone)]


def _ask(
    runner: Runner, env: Mapping[str, str], services: Sequence[InstalledService]
) -> tuple[dict[str, LiveUnit], list[Finding]]:
    try:
        return live_units(
            runner, [unit for service in services for unit in (service.unit, service.watch)]
        ), []
    except HostError as error:
        remedy = error.remedy
        if not env.get("XDG_RUNTIME_DIR"):
            remedy = "log in as the user whose services these are, or set XDG_RUNTIME_DIR"
        message = f"systemd does not answer, so this is what was last written down: {error.message}"
        return {}, [Finding(severity="warning", code="no-user-manager", message=message, remedy=remedy)]


def _status(
    service: InstalledService,
    state: ServiceState,
    units: Mapping[str, LiveUnit],
    health: Health | None,
    now: float,
) -> ServiceStatus:
    unit, watcher = units.get(service.unit), units.get(service.watch)
    starts, watch = state.starts(), state.watch()
    seen = Seen(
        unit=unit,
        installed=service.path is not None,
        probed=service.probe is not None,
        health=health,
        starts=starts,
        watch=watch,
        watcher=watcher.status if watcher and watcher.active == "active" else "",
        now=now,
    )
    return ServiceStatus(
        service=service,
        condition=condition(seen),
        unit=unit,
        watcher=watcher,
        starts=starts,
        watch=watch,
        health=health,
    )


def _findings(one: ServiceStatus, now: float) -> Iterator[Finding]:
    name, unit, path = one.service.name, one.unit, one.service.path
    if one.service.problem:
        yield _warning("probe-file", one.service.problem, "quadgen install", name)
    if unit is None:
        return
    if one.health is not None and one.health.overdue(now, unit.began):
        message = f"{unit.name}: {one.health.words(now, unit.began)}: the user manager's timers stand still"
        yield _warning("no-health-check", message, "systemctl --user daemon-reexec", name)
    if path is None:
        yield _warning(
            "no-unit-file", f"{unit.name} runs, and its unit file is gone", f"quadgen stop {name}", name
        )
    elif unit.load == "not-found":
        yield _warning("unit-not-found", f"systemd does not know {unit.name} yet", _RELOAD, name)
    elif unit.stale:
        yield _warning("stale-unit", f"systemd has not read the present files of {unit.name}", _RELOAD, name)
    elif unit.running and unit.began is not None and _written(one) >= unit.began + 1:
        # systemd tells whole seconds; within the same one nothing can be said.
        message = f"{unit.name} runs from an older file than the installed one"
        yield Finding(
            severity="note",
            code="older-definition",
            message=message,
            remedy=f"quadgen restart {name}",
            path=("service", name),
        )


_RELOAD = "systemctl --user daemon-reload"


def _written(one: ServiceStatus) -> float:
    try:
        return one.service.path.stat().st_mtime if one.service.path else 0.0
    except OSError:
        return 0.0


def _warning(code: str, message: str, remedy: str, service: str) -> Finding:
    return Finding(severity="warning", code=code, message=message, remedy=remedy, path=("service", service))


def _unit_json(unit: LiveUnit) -> dict[str, Any]:
    return {
        "name": unit.name,
        "load": unit.load,
        "active": unit.active,
        "sub": unit.sub,
        "status": unit.status,
        "result": unit.result,
        "invocation": unit.invocation,
        "stale": unit.stale,
    }
