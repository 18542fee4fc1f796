"""From options to the words that `vllm serve` reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def words(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The words for a table of options, in the table's order.

    Args:
        options: Values by option name without dashes: true and false become `--x` and `--no-x`, a list
            becomes repeated words, a table one JSON word, everything else one word.
    """
    return tuple(word for name, value in options.items() for word in _option(name, value))


def _option(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, bool):
        yield f"--{name}" if value else f"--no-{name}"
        return
    if isinstance(value, list):
        yield f"--{name}"
        yield from map(_text, value)
        return
    text = _text(value)
    # A value with a leading dash would be read as an option.
    yield from (f"--{name}={text}",) if text.startswith("-") else (f"--{name}", text)


def _text(value: Any) -> str:
    if isinstance(value, (dict, list, bool)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str(getattr(value, "text", value))
