"""What several services of one machine do to each other, and to themselves: order, cards, container names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quadgen.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from quadgen.findings import KeyPath, Severity
    from quadgen.spec.models import Service, Spec

# vLLM's own share (0.20 to 0.33) where nothing is said; what all of a card's services may have together.
_OWN_SHARE, _MOST = 0.92, 0.95
# Podman's short ids have twelve digits; a longer name is none's beginning.
_ID_LIKE = re.compile(r"[0-9a-f]{1,12}")


def findings(spec: Spec) -> Iterator[Finding]:
    """All findings about services beside each other."""
    for service in spec.services:
        yield from _name(service)
    yield from _cycles(spec)
    yield from _shares(spec)


def _of(service: Service, key: str, code: str, message: str, remedy: str, *, severity: Severity) -> Finding:
    path: KeyPath = ("service", service.name, *filter(None, key.split("/")))
    return Finding(severity=severity, code=code, message=message, remedy=remedy, path=path)


def _name(service: Service) -> Iterator[Finding]:
    # Measured: `podman run --replace --name c` removed another container, whose id began with c.
    if _ID_LIKE.fullmatch(service.name):
        yield _of(
            service,
            "",
            "name-like-an-id",
            f'Podman may take the container name "{service.name}" for the beginning of another one\'s id,'
            " and replace that",
            "give the service a name with a letter beyond f, or a dash",
            severity="warning",
        )


def _cycles(spec: Spec) -> Iterator[Finding]:
    """Services that wait for each other: systemd drops one of the starts, and which one is its secret."""
    names = {f"{service.name}{ending}": service.name for service in spec.services for ending in _ENDINGS}
    waits = {service.name: dict.fromkeys(_known(_ordered_after(service), names)) for service in spec.services}
    for service in spec.services:
        for later in _known(_raw_units(service, "Before"), names):
            waits[later][service.name] = None
    told: set[frozenset[str]] = set()
    for service in spec.services:
        cycle = _way_back(service.name, waits)
        if cycle and frozenset(cycle) not in told:
            told.add(frozenset(cycle))
            way = " after ".join((*cycle, cycle[0]))
            yield _of(
                service, "after", "ordering-cycle", f"{way}: none can start", "take one out", severity="error"
            )


# A service's own unit, its Quadlet file, and the watch that is ordered after it.
_ENDINGS = (".service", ".container")


def _ordered_after(service: Service) -> Iterator[str]:
    yield from (*service.after, *service.requires, *_raw_units(service, "After"))


def _raw_units(service: Service, key: str) -> Iterator[str]:
    raw = service.quadlet.unit.get(key, ())
    for line in raw if isinstance(raw, tuple) else (raw,):
        yield from str(line).split()


def _known(units: Iterable[str], names: Mapping[str, str]) -> Iterator[str]:
    for unit in units:
        watch = re.fullmatch(r"quadgen-watch@(.+)\.service", unit)
        name = names.get(f"{watch[1]}.service" if watch else unit)
        if name is not None:
            yield name


def _way_back(start: str, waits: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """The shortest way from a service over those it waits for back to itself; empty where there is none."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen: set[str] = set()
    while ways:
        way = ways.pop(0)
        for after in waits[way[-1]]:
            if after == start:
                return way
            if after not in seen:
                seen.add(after)
                ways.append((*way, after))
    return ()


def _shares(spec: Spec) -> Iterator[Finding]:
    """Services of one card whose shares of its memory are more than there is."""
    cards: dict[str, list[Service]] = {}
    for service in spec.services:
        if service.accelerator == "nvidia" and service.command == "serve":
            for gpu in service.gpus:
                cards.setdefault(gpu.rpartition("=")[2], []).append(service)
    everywhere = cards.pop("all", [])
    order = {service.name: number for number, service in enumerate(spec.services)}
    for card, own in (cards or {"all": []}).items():
        together = sorted((*own, *everywhere), key=lambda service: order[service.name])
        total = sum(map(_share, together))
        if len(together) > 1 and total > _MOST:
            yield _of(
                together[-1],
                "serve/gpu-memory-utilization" if "gpu-memory-utilization" in together[-1].serve else "gpus",
                "card-too-small",
                f"{_listed(together)} want {total:.2f} of the memory of GPU {card} together",
                f"set gpu-memory-utilization in each, {_MOST} at most together, or give each its own GPU",
                severity="warning",
            )


def _listed(services: Sequence[Service]) -> str:
    names = [service.name for service in services]
    return " and ".join(names) if len(names) < 4 else f"{names[0]} and {len(names) - 1} more"


def _share(service: Service) -> float:
    if "kv-cache-memory-bytes" in service.serve:
        # The share does not count then, and how much that is of the card is not known.
        return 0.0
    share = service.serve.get("gpu-memory-utilization", _OWN_SHARE)
    return float(share) if isinstance(share, int | float) else _OWN_SHARE
