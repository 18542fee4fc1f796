"""Dumps of releases, and our own words about them, as the catalog's files; and back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from vllmdump.history import decode, encode, write

Dump = dict[str, Any]

DATA = Path(__file__).resolve().parents[2] / "src" / "quadgen" / "vllm" / "data"
RELEASES = DATA.parent / "releases.py"
WORDS = Path(__file__).with_name("words.toml")


def minor(version: str) -> str:
    """`0.33` for `0.33.0`."""
    return ".".join(version.split(".")[:2])


def files(dumps: list[Dump]) -> dict[Path, str]:
    """What each file of the catalog holds.

    Args:
        dumps: One of each minor release, oldest first.
    """
    words = tomllib.loads(WORDS.read_text())
    releases = [minor(dump["version"]) for dump in dumps]
    options = _histories(releases, [dump["options"] for dump in dumps])
    classes = _histories(releases, [_flat(dump["classes"]) for dump in dumps])
    variables = _histories(releases, [dump["variables"] for dump in dumps])
    return {
        RELEASES: _module({minor(dump["version"]): dump["version"] for dump in dumps}),
        DATA / "options.json": write(_described(_limited(options, words["limits"]), words["options"])),
        DATA / "classes.json": write(classes),
        DATA / "variables.json": write(_described(variables, words["variables"])),
        DATA / "removed.json": json.dumps(
            {"options": words["removed-options"], "variables": words["removed-variables"]}, indent=0
        ),
    }


def dumps(versions: dict[str, str]) -> list[Dump]:
    """The dumps that the files were made of.

    Args:
        versions: Version by minor release, oldest first.
    """
    releases = list(versions)
    options, classes, variables = (
        _states(releases, json.loads((DATA / f"{name}.json").read_text()))
        for name in ("options", "classes", "variables")
    )
    return [
        {
            "version": versions[release],
            "options": options[release],
            "classes": _deep(classes[release]),
            "variables": variables[release],
        }
        for release in releases
    ]


def undescribed() -> list[str]:
    """Names of options and variables that no line of ours explains."""
    found = []
    for name in ("options", "variables"):
        entries = json.loads((DATA / f"{name}.json").read_text())
        found += [key for key, entry in entries.items() if not entry.get("summary")]
    return found


def _histories(releases: list[str], states: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    names = sorted({name for state in states for name in state})
    return {
        name: {
            "rows": encode(
                [(release, state.get(name)) for release, state in zip(releases, states, strict=True)]
            )
        }
        for name in names
    }


def _states(releases: list[str], entries: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {release: {} for release in releases}
    for name, entry in entries.items():
        for release, row in decode(entry["rows"], releases):
            if row is not None:
                found[release][name] = row
    return found


def _described(histories: dict[str, dict[str, Any]], words: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Adds to each entry what `words` says: a line, or a table with the line and more."""
    for name, entry in histories.items():
        told = words.get(name, "")
        entry.update({"summary": told} if isinstance(told, str) else told)
    return histories


def _limited(histories: dict[str, dict[str, Any]], limits: dict[str, Any]) -> dict[str, dict[str, Any]]:
    for name in limits.keys() & histories.keys():
        histories[name]["limits"] = limits[name]
    return histories


def _flat(classes: dict[str, Any]) -> dict[str, Any]:
    """Classes and their keys side by side: `LoadConfig` and `LoadConfig.load_format`."""
    flat = {}
    for name, row in classes.items():
        flat[name] = {key: value for key, value in row.items() if key != "keys"}
        flat.update({f"{name}.{key}": value for key, value in row["keys"].items()})
    return flat


def _deep(flat: dict[str, Any]) -> dict[str, Any]:
    classes = {name: {**row, "keys": {}} for name, row in flat.items() if "." not in name}
    for name, row in flat.items():
        owner, _, key = name.partition(".")
        if key:
            classes[owner]["keys"][key] = row
    return classes


def _module(versions: dict[str, str]) -> str:
    rows = "".join(f'    "{release}": "{version}",\n' for release, version in versions.items())
    docstring = '"""The vLLM releases that the catalog knows; written by `scripts/catalog`, never by hand."""'
    return f"{docstring}\n\nVERSIONS: dict[str, str] = {{\n{rows}}}\n"
