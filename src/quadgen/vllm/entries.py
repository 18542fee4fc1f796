"""The keys of a `serve` table become entries: one option each, dotted keys and tables merged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quadgen.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quadgen.vllm.catalog import Catalog, Match
    from quadgen.vllm.option import Option


@dataclass(slots=True)
class Entry:
    """One option of a service, as the spec gives it.

    Args:
        option: Its row in the catalog.
        key: The key that named it first, for messages.
        value: What the spec holds; a negative spelling is already turned round.
        dotted: Keys of the table that set one part each, and the part.
        whole: Whether a key without dots has given the value, or its main part.
    """

    option: Option
    key: str
    value: Any
    dotted: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    whole: bool = False

    def source(self, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        """Where in the `serve` table a part of the value was given.

        Args:
            path: Keys and indexes below the option.
        """
        for key, parts in self.dotted:
            if path[: len(parts)] == parts:
                return (key, *path[len(parts) :])
        return (self.key, *path)


@dataclass(slots=True)
class Entries:
    """Every option of a service in the order of the spec, and what was wrong with the keys."""

    rows: dict[str, Entry] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def refuse(self, code: str, key: str, message: str, remedy: str = "") -> None:
        """Note an error at a key of the table."""
        finding = Finding(severity="error", code=code, message=message, remedy=remedy, path=("serve", key))
        self.findings.append(finding)


def read_entries(options: Mapping[str, Any], catalog: Catalog, command: str = "serve") -> Entries:
    """Find the option of every key.

    Args:
        options: The `serve` table as TOML has it.
        catalog: The release's catalog.
        command: `serve` or `launch render`, which takes fewer options.
    """
    entries = Entries()
    for key, value in options.items():
        match = catalog.find(key) if _is_name(key) else None
        if match is None or (command != "serve" and not match.option.renders):
            from quadgen.vllm.unknown import unknown_option  # noqa: PLC0415 - only a mistake needs it

            entries.findings.append(unknown_option(key, catalog, command))
        else:
            _add(entries, key, value, match)
    return entries


def _is_name(key: str) -> bool:
    """A key that is a plain spelling: no dashes before it, nothing behind an equals sign."""
    return not key.startswith("-") and "=" not in key and " " not in key


def _add(entries: Entries, key: str, value: Any, match: Match) -> None:
    name = match.option.name
    if match.keys and not match.option.takes_json:
        entries.refuse(
            "dotted-not-json", key, f"{name} is no JSON option: it has no parts to set", f"write {name} = …"
        )
        return
    if match.negated:
        value = _turned(entries, key, value, name)
    for part in reversed(match.keys):
        value = {part: value}
    earlier = entries.rows.get(name)
    if earlier is None:
        entries.rows[name] = earlier = Entry(match.option, key, value)
    elif isinstance(earlier.value, dict) and isinstance(value, dict) and (match.keys or not earlier.whole):
        _merge(entries, key, earlier, value)
    else:
        entries.refuse(
            "option-twice",
            key,
            f"{key} and {earlier.key} both set --{name}, and vLLM would use only one of them",
            f"keep {name}",
        )
    if match.keys:
        earlier.dotted.append((key, match.keys))
    else:
        earlier.whole = True


def _turned(entries: Entries, key: str, value: Any, name: str) -> Any:
    if isinstance(value, bool):
        return not value
    entries.refuse("value-type", key, f"{key} must be true or false", f"write {name} = false")
    return False


def _merge(entries: Entries, key: str, earlier: Entry, value: dict[str, Any]) -> None:
    """Dotted keys and a table are the same thing; a part that is set twice must not differ silently."""
    merged, clash = _merged(earlier.value, value)
    if clash:
        part = ".".join(clash)
        entries.refuse(
            "json-twice",
            key,
            f"{earlier.option.name}.{part} is set by {earlier.key} and again by {key}",
            "keep one of them",
        )
    earlier.value = merged


def _merged(first: dict[str, Any], second: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    result = dict(first)
    for key, value in second.items():
        before = result.get(key)
        if key not in result:
            result[key] = value
        elif isinstance(before, dict) and isinstance(value, dict):
            result[key], clash = _merged(before, value)
            if clash:
                return result, (key, *clash)
        else:
            return result, (key,)
    return result, ()
