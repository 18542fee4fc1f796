"""Words for a release without a catalog: by the TOML type alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadgen.vllm.json_values import to_json
from quadgen.vllm.reading import spelled

if TYPE_CHECKING:
    from collections.abc import Mapping


def structural_words(options: Mapping[str, Any]) -> list[str]:
    """A true becomes `--x`, false `--no-x`, a list its words, a table one JSON word, all else one word.

    Args:
        options: The `serve` table; a dotted key is merged with the table of the same name.
    """
    words: list[str] = []
    for name, value in _merged(options).items():
        words += _words(f"--{name.replace('_', '-')}", name, value)
    return words


def _words(flag: str, name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [flag if value else f"--no-{name.replace('_', '-')}"]
    if isinstance(value, dict):
        return [flag, to_json(value)]
    if isinstance(value, list):
        return [flag, *(to_json(item) if isinstance(item, (dict, list)) else _single(item) for item in value)]
    word = _single(value)
    return [f"{flag}={word}"] if word.startswith("-") or not word else [flag, word]


def _single(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return spelled(value)


def _merged(options: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in options.items():
        name, *parts = key.split(".")
        if parts or isinstance(value, dict):
            for part in reversed(parts):
                value = {part: value}  # noqa: PLW2901 - each part wraps what came before
            before = result.get(name)
            result[name] = _joined(before, value) if isinstance(before, dict) else value
        else:
            result[name] = value
    return result


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    result = dict(first)
    for key, value in second.items():
        before = result.get(key)
        both = isinstance(before, dict) and isinstance(value, dict)
        result[key] = _joined(before, value) if both else value  # type: ignore[arg-type]
    return result
