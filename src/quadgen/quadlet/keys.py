"""Which key which Podman and systemd know: rows of keys.json, which scripts/quadlet-keys makes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from quadgen.quadlet.version import PodmanVersion

# How the generator decodes a key's value; the classes of Quadlet's own parser.
KeyClass: TypeAlias = Literal["string", "bool", "list", "strv", "quoted-list", "argv", "env"]


class Key(NamedTuple):
    """One key of one of Quadlet's sections.

    Args:
        kind: How the generator decodes the value.
        since: The first Podman whose generator takes it.
        repeatable: Whether several lines add up; else the last one counts.
        flag: The Podman flag that the generator makes of it.
        form: The same as one word of `PodmanArgs`, with `V` for the value.
        form_since: The first Podman that understands `form`.
    """

    section: str
    name: str
    kind: KeyClass
    since: PodmanVersion
    repeatable: bool
    flag: str | None = None
    form: str | None = None
    form_since: PodmanVersion | None = None


@cache
def find_key(section: str, name: str) -> Key | None:
    """The key of that exact name, as Quadlet's matching is case sensitive."""
    row: list[Any] | None = _table()["sections"].get(section, {}).get("keys", {}).get(name)
    if row is None:
        return None
    kind, since, repeatable = row[:3]
    flag, form, form_since = (row[3:] + [None] * 3)[:3]
    return Key(
        section,
        name,
        cast("KeyClass", kind),
        _version(since),
        bool(repeatable),
        flag,
        form,
        form_since and _version(form_since),
    )


@cache
def section_since(section: str) -> PodmanVersion | None:
    """The first Podman that knows one of Quadlet's sections; None when it is none of them."""
    row = _table()["sections"].get(section)
    return _version(row["since"]) if row else None


@cache
def section_names() -> tuple[str, ...]:
    """Every section that a key can be looked up in: Quadlet's own, then systemd's."""
    table = _table()
    return tuple(dict.fromkeys((*table["sections"], *table["systemd"])))


def key_names(section: str) -> tuple[str, ...]:
    """The names that a section takes: Quadlet's where the section is one of its own, else systemd's."""
    quadlet = _table()["sections"].get(section)
    return tuple(quadlet["keys"] if quadlet else _systemd_names(section))


def systemd_since(section: str, name: str) -> int | None:
    """The systemd release that certainly has a directive, of those that the table was made from.

    Returns:
        The first release seen with it, where 252 stands for older ones too; None for an unknown name.
    """
    return _systemd_names(section).get(name)


@cache
def _systemd_names(section: str) -> dict[str, int]:
    rows: dict[str, str] = _table()["systemd"].get(section, {})
    return {name: int(release) for release, names in rows.items() for name in names.split()}


@cache
def _table() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_name("keys.json").read_bytes())
    return content


def _version(text: str) -> PodmanVersion:
    major, minor = text.split(".")
    return PodmanVersion(int(major), int(minor))
