"""Rows of many releases as one history each, and back: what the catalog's files keep."""

from __future__ import annotations

import json
from typing import Any

Row = dict[str, Any]
History = list[tuple[str, Row | None]]


def encode(states: list[tuple[str, Row | None]]) -> History:
    """The first state in full, then what became different; a key that went is written as null.

    Args:
        states: Each release, oldest first, with its row, or None where it has none.
    """
    history: History = []
    last: Row | None = None
    for release, row in states:
        if row == last:
            continue
        if row is None or last is None:
            history.append((release, row))
        else:
            names = sorted(last.keys() | row.keys())
            change = {name: row.get(name) for name in names if row.get(name) != last.get(name)}
            history.append((release, change))
        last = row
    return history


def decode(history: History, releases: list[str]) -> list[tuple[str, Row | None]]:
    """What `encode` was given."""
    changes = dict(history)
    states: list[tuple[str, Row | None]] = []
    row: Row | None = None
    for release in releases:
        if release in changes:
            change = changes[release]
            merged = None if change is None else {**(row or {}), **change}
            row = (
                None if merged is None else {key: value for key, value in merged.items() if value is not None}
            )
        states.append((release, row))
    return states


def write(entries: dict[str, Any]) -> str:
    """JSON with one entry a line, so that a diff of the data reads well."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}" for name, entry in entries.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"
