"""From a spec file to checked models, with every error at its file, line and key."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from quadgen.errors import SpecError
from quadgen.findings import Finding
from quadgen.spec import crosscheck, source, translate
from quadgen.spec.lines import Lines
from quadgen.spec.models import Companion, Service, Spec
from quadgen.spec.refusal import did_you_mean, shown
from quadgen.vllm import images

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quadgen.findings import KeyPath
    from quadgen.spec.source import Source

# The one section of each companion whose keys may stand directly in its table.
COMPANIONS = {"volume": "Volume", "network": "Network", "image": "Image"}
_TABLES = ("defaults", "service", *COMPANIONS)


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded:
    """A spec with what is needed to speak about it.

    Args:
        spec: The checked models.
        source: Where it comes from.
        findings: Warnings and notes; errors were raised.
    """

    spec: Spec
    source: Source
    text: str
    tables: dict[str, Any]
    findings: tuple[Finding, ...] = ()

    def locate(self, findings: Iterable[Finding]) -> list[Finding]:
        """Give findings about keys of this spec their file and line, in the file's order, each once."""
        findings = list(findings)
        elsewhere = [finding for finding in findings if not finding.path]
        here = [finding for finding in findings if finding.path]
        return elsewhere + _locate(self.source, self.text, self.tables, here)


def load(origin: Source) -> Loaded:
    """Read and check a spec.

    Raises:
        UsageError: The file can't be read.
        SpecError: Something in it is wrong; all that is wrong is told at once.
    """
    text, tables = source.read(origin)
    findings = list(_unknown_tables(tables))
    services = [_service(name, tables, findings) for name in _named(tables, "service", findings)]
    companions = [
        _companion(kind, name, tables[kind][name], findings)
        for kind in COMPANIONS
        for name in _named(tables, kind, findings)
    ]
    if not tables.get("service") and not findings:
        findings.append(
            _error("no-service", "there is no service in it", "add a table [service.NAME] with a model")
        )
    units = tuple(filter(None, companions))
    spec = Spec(tuple(_with_release(service, units) for service in filter(None, services)), units)
    findings.extend(crosscheck.findings(spec))
    located = _locate(origin, text, tables, findings)
    if any(finding.severity == "error" for finding in located):
        raise SpecError(located)
    return Loaded(spec, origin, text, tables, tuple(located))


def _with_release(service: Service, companions: Iterable[Companion]) -> Service:
    """A service whose image stands in an image unit, with the release that the unit's image names."""
    unit = service.image.removesuffix(".image")
    if service.vllm or unit == service.image:
        return service
    for companion in companions:
        if (companion.kind, companion.name) == ("image", unit):
            reference = str(companion.sections.get("Image", {}).get("Image", ""))
            return dataclasses.replace(service, vllm=images.release_of(reference))
    return service


def _unknown_tables(tables: dict[str, Any]) -> Iterable[Finding]:
    for name, value in tables.items():
        if name not in _TABLES:
            yield _error(
                "unknown-key",
                f"there is no {shown(name)} at the top of a spec",
                did_you_mean(name, _TABLES),
                name,
            )
        elif not isinstance(value, dict):
            yield _error("not-a-table", f"{name} is {shown(value)}, not a table", f"write [{name}]", name)


def _named(tables: dict[str, Any], kind: str, findings: list[Finding]) -> Iterable[str]:
    table = tables.get(kind, {})
    for name, value in table.items() if isinstance(table, dict) else ():
        if isinstance(value, dict):
            yield name
        else:
            findings.append(
                _error(
                    "not-a-table",
                    f"{kind}.{name} is {shown(value)}, not a table",
                    f"write [{kind}.NAME]",
                    kind,
                    name,
                )
            )


def _service(name: str, tables: dict[str, Any], findings: list[Finding]) -> Service | None:
    defaults = tables.get("defaults", {})
    own = tables["service"][name]
    merged = _merge(defaults, own) if isinstance(defaults, dict) else own
    written = {key: value for key, value in merged.items() if key != "name"}
    model, wrong = translate.validate(Service, written, ("service", name), name=name)
    if "name" in merged:
        wrong.append(
            _error(
                "unknown-key",
                "a service's name is its table's",
                f"write [service.{shown(merged['name'])}]",
                "service",
                name,
                "name",
            )
        )
    findings.extend(wrong)
    return model


def _depth(table: Any, path: KeyPath) -> int:
    for depth, part in enumerate(path):
        inside = (
            part in table if isinstance(table, dict) else isinstance(table, list) and isinstance(part, int)
        )
        if not inside:
            return depth
        table = table[part]
    return len(path)


def _merge(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _companion(kind: str, name: str, table: dict[str, Any], findings: list[Finding]) -> Companion | None:
    sections: dict[str, dict[str, Any]] = {
        name: {} for name in ("Unit", COMPANIONS[kind], "Service", "Install", "Quadlet")
    }
    for key, value in table.items():
        if isinstance(value, dict) and key in sections:
            sections[key].update(value)
        else:
            sections[COMPANIONS[kind]][key] = value
    model, wrong = translate.validate(Companion, {}, (kind, name), kind=kind, name=name, sections=sections)
    findings.extend(wrong)
    return model


def _locate(origin: Source, text: str, tables: dict[str, Any], findings: Iterable[Finding]) -> list[Finding]:
    unique = dict.fromkeys(findings)
    if not unique:
        return []
    lines = Lines(text)
    placed = [
        dataclasses.replace(finding, path=path, file=origin.label, line=lines.find(path))
        for finding in unique
        for path in [_written(finding.path, tables) if finding.path else ()]
    ]
    return sorted(dict.fromkeys(placed), key=lambda finding: finding.line or 0)


def _written(path: KeyPath, tables: dict[str, Any]) -> KeyPath:
    """Where a key is written.

    In [defaults], when not in the service; without the section that a companion's keys need not name;
    without the index of a list of one.
    """
    if len(path) > 2 and path[0] == "service":
        own = tables.get("service", {}).get(path[1], {})
        if _depth(own, path[2:]) < _depth(tables.get("defaults", {}), path[2:]):
            path = ("defaults", *path[2:])
    elif len(path) > 3 and path[2] == COMPANIONS.get(str(path[0])) and _depth(tables, path) < 3:
        path = (*path[:2], *path[3:])
    if isinstance(path[-1], int) and _depth(tables, path) < len(path):
        return path[:-1]
    return path


def _error(code: str, message: str, remedy: str, *path: str | int) -> Finding:
    return Finding(severity="error", code=code, message=message, remedy=remedy, path=path)
