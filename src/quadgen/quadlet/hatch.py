"""The escape hatch: the user's own keys, laid over those that quadgen writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadgen.quadlet import keys
from quadgen.quadlet.assignment import Assignment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from quadgen.findings import KeyPath

# Directives of systemd of which several lines add up: systemd.unit(5), systemd.service(5), systemd.exec(5).
_SYSTEMD_LISTS = frozenset((
    "After", "Before", "BindsTo", "Conflicts", "Documentation", "OnFailure", "OnSuccess", "PartOf",
    "Requires", "RequiresMountsFor", "Requisite", "Upholds", "Wants", "Environment",
    "EnvironmentFile", "ExecCondition", "ExecReload", "ExecStartPost", "ExecStartPre", "ExecStop",
    "ExecStopPost", "PassEnvironment", "ReadOnlyPaths", "ReadWritePaths", "SupplementaryGroups",
    "UnsetEnvironment",
))  # fmt: skip


def overlay(
    assignments: Sequence[Assignment], sections: Mapping[str, Mapping[str, Any]], path: KeyPath
) -> list[Assignment]:
    """Add the user's keys.

    A key that can stand several times is added to what quadgen writes, any other replaces it, and an
    empty list takes away all that quadgen wrote under that key.

    Args:
        assignments: What quadgen writes.
        sections: The user's keys by section, with their unit-file text.
        path: Where the sections stand in the spec.
    """
    replaced = {
        (section, key)
        for section, values in sections.items()
        for key, value in values.items()
        if value == () or not _adds_up(section, key)
    }
    kept = [item for item in assignments if (item.section, item.key) not in replaced]
    return kept + list(_raw(sections, path))


def _adds_up(section: str, key: str) -> bool:
    known = keys.find_key(section, key)
    return known.repeatable if known else key in _SYSTEMD_LISTS


def _raw(sections: Mapping[str, Mapping[str, Any]], path: KeyPath) -> Iterator[Assignment]:
    for section, values in sections.items():
        for key, value in values.items():
            for item in value if isinstance(value, tuple) else (value,):
                text = {True: "true", False: "false"}[item] if isinstance(item, bool) else str(item)
                yield Assignment(section, key, text, raw=True, path=(*path, section, key))
