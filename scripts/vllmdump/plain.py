"""Python values of vLLM as JSON."""

from __future__ import annotations

import dataclasses
import enum
from argparse import SUPPRESS
from typing import Any

BOUNDS = ("ge", "gt", "le", "lt")
KEPT = ("default", *BOUNDS)


def plain(value: Any) -> Any:
    """JSON for a default or a choice; None for what has no meaning outside vLLM."""
    if isinstance(value, enum.Enum):
        value = value.value if isinstance(value, (int, str)) else value.name
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        # A configuration object: the class says what its keys default to.
        return {}
    return value if isinstance(value, (bool, int, float, str)) and value is not SUPPRESS else None


def present(row: dict[str, Any]) -> dict[str, Any]:
    """The row without what is None, empty or False, but with a default or limit that is 0, False or empty."""
    return {key: value for key, value in row.items() if value or (key in KEPT and value is not None)}


def bounds(*places: Any) -> dict[str, Any]:
    """The limits written in a field's default or in its type."""
    found = {}
    for place in places:
        for rule in getattr(place, "metadata", ()):
            found.update(
                {key: plain(getattr(rule, key)) for key in BOUNDS if getattr(rule, key, None) is not None}
            )
    return found
