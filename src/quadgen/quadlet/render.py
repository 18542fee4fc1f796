"""From a spec to unit files: pure, and the same bytes for the same input."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from quadgen import resources
from quadgen.errors import UsageError
from quadgen.findings import Finding
from quadgen.quadlet import container, header, supervision
from quadgen.quadlet.assignment import Assignment, UnitFile
from quadgen.quadlet.hatch import overlay
from quadgen.quadlet.lower import lower
from quadgen.quadlet.readiness import mode
from quadgen.vllm.services import serving_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from jinja2 import Template

    from quadgen.quadlet.target import Target
    from quadgen.spec.models import Companion, Service, Spec
    from quadgen.vllm.services import Serving


class Rendered(NamedTuple):
    """The unit files of a spec.

    Args:
        files: Sorted by name.
        findings: What can't be written for the target, without file and line.
    """

    files: tuple[UnitFile, ...]
    findings: tuple[Finding, ...]


def render(spec: Spec, target: Target, label: str, names: Sequence[str] = ()) -> Rendered:
    """Render the unit files of a spec.

    Args:
        spec: The checked spec.
        target: The machine that shall read them.
        label: How the files name the spec they come from.
        names: The services wanted; none means all.

    Raises:
        UsageError: The spec has no service of that name.
    """
    services = choose(spec, names)
    files: list[UnitFile] = []
    findings: list[Finding] = []
    servings = {service.name: serving_of(service) for service in services}
    findings += [finding for serving in servings.values() for finding in serving.findings]
    units = list(_units(spec, services, servings, target, everything=not names))
    findings += _same_service(name for name, *_ in units)
    for name, needed_by, assignments, notes in units:
        lowered = lower(assignments, target.podman)
        findings.extend(lowered.findings)
        body = _template().render(sections=lowered.sections, notes=notes)
        files.append(UnitFile(name, header.stamp(body, spec=label, services=needed_by), needed_by))
    files += (
        _probe_file(one, servings[one.name], target, label) for one in services if mode(one, target) == "host"
    )
    return Rendered(tuple(sorted(files, key=lambda file: file.name)), tuple(findings))


def choose(spec: Spec, names: Sequence[str]) -> tuple[Service, ...]:
    """The services of those names, in the spec's order.

    Raises:
        UsageError: The spec has no service of that name.
    """
    known = {service.name for service in spec.services}
    for name in names:
        if name not in known:
            raise UsageError(
                f"there is no service {name!r} in the spec", f"it has: {', '.join(sorted(known))}"
            )
    return tuple(service for service in spec.services if not names or service.name in names)


_Unit = tuple[str, tuple[str, ...], "list[Assignment]", tuple[str, ...]]


def _units(
    spec: Spec,
    services: Sequence[Service],
    servings: Mapping[str, Serving],
    target: Target,
    *,
    everything: bool,
) -> Iterator[_Unit]:
    shared: dict[str, list[str]] = {}
    for service in services:
        serving = servings[service.name]
        yield (
            f"{service.name}.container",
            (service.name,),
            _service(service, serving, target),
            _notes(service),
        )
        for volume in container.volumes(service, serving):
            shared.setdefault(volume, []).append(service.name)
    defined = {companion.name for companion in spec.companions if companion.kind == "volume"}
    for volume, names in shared.items():
        if volume in defined:
            continue  # the user's own definition takes its place
        yield f"{volume}.volume", tuple(sorted(names)), _own_volume(target), (_KEPT,)
    for companion in spec.companions:
        users = _users(companion, services)
        if users or everything:
            yield f"{companion.name}.{companion.kind}", users, _companion(companion, target), ()


def _same_service(files: Iterable[str]) -> Iterator[Finding]:
    """Quadlet names the service of `a.volume` as that of `a-volume.container`."""
    made: dict[str, str] = {}
    for file in files:
        stem, _, kind = file.rpartition(".")
        service = stem if kind == "container" else f"{stem}-{kind}"
        if service in made:
            yield Finding(
                severity="error",
                code="unit-name-twice",
                message=f"{made[service]} and {file} would both become {service}.service",
                remedy="rename one of them",
                path=("service", service),  # one of the two is always a service's container
            )
        made[service] = file


_KEPT = "What is in the volume stays when the services are uninstalled."


def _notes(service: Service) -> tuple[str, ...]:
    return (
        f"Start: systemctl --user start {service.name}",
        f"Log:   journalctl --user -u {service.name}",
    )


def _service(service: Service, serving: Serving, target: Target) -> list[Assignment]:
    assignments = [
        *supervision.unit(service, target),
        *container.assignments(service, serving, target),
        supervision.stop_timeout(service),
        *supervision.supervision(service, target),
        *supervision.install(service),
        *supervision.dependencies(service, target),
    ]
    return overlay(assignments, service.quadlet.sections(), ("service", service.name, "quadlet"))


def _probe_file(service: Service, serving: Serving, target: Target, label: str) -> UnitFile:
    from quadgen.quadlet import probefile  # noqa: PLC0415 - only where a gate needs it

    text = header.stamp(probefile.text(service, serving, target), spec=label, services=(service.name,))
    return UnitFile(f"{service.name}.probe", text, (service.name,))


def _own_volume(target: Target) -> list[Assignment]:
    # An empty [Volume] is enough; a file without any section would be none.
    return [Assignment("Volume", "Label", (("io.quadgen.cache", "true"),)), *supervision.offline(target)]


def _companion(companion: Companion, target: Target) -> list[Assignment]:
    without_network = supervision.offline(target) if companion.kind != "image" else ()
    return overlay(list(without_network), companion.sections, (companion.kind, companion.name))


def _users(companion: Companion, services: Iterable[Service]) -> tuple[str, ...]:
    unit = f"{companion.name}.{companion.kind}"
    return tuple(sorted(service.name for service in services if unit in _references(service)))


def _references(service: Service) -> set[str]:
    networks = {network.partition(":")[0] for network in service.network}
    return networks | {volume.source for volume in service.volumes} | {service.image} | set(service.after)


@cache
def _template() -> Template:
    import jinja2  # noqa: PLC0415 - commands that render nothing need not load it

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resources.folder("templates")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - unit files are no HTML; the encoders escape
    )
    return environment.get_template("unit.j2")
