"""How a kind of value refuses: a stable code, what is wrong, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Iterable

# Marks the errors raised here among pydantic's own.
REFUSED = "quadgen"


def refuse(code: str, message: str, remedy: str) -> NoReturn:
    """Refuse the value at hand.

    Args:
        code: Stable kebab-case name of the kind of error.
        message: What is wrong, with the value, without its place.
        remedy: What to write instead.
    """
    raise PydanticCustomError(REFUSED, "{message}", {"message": message, "code": code, "remedy": remedy})


def shown(value: Any) -> str:
    """A value as a message shows it: on one line, and not longer than a line."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    if isinstance(value, str):
        text = '"' + text[1:-1] + '"'
    return text if len(text) <= 60 else text[:57] + "…"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy that names the nearest known words."""
    import difflib  # noqa: PLC0415 - only a mistake needs it

    names = sorted(known)
    near = difflib.get_close_matches(word.replace("_", "-").lower(), names, n=2, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"one of: {', '.join(names)}"
