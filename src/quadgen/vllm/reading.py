"""What becomes of one value, and how a value that does not fit is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from quadgen.vllm.option import Option


class JsonProblem(NamedTuple):
    """One thing that is wrong inside a JSON option.

    Args:
        code: Kebab-case name of the kind of problem.
        path: Keys and indexes below the option.
        message: What is wrong, to follow the option's name and a colon.
        remedy: What to do about it.
    """

    code: str
    path: tuple[str | int, ...]
    message: str
    remedy: str = ""


class UnfitValueError(Exception):
    """A value does not fit its option.

    Args:
        problems: Each thing that is wrong with it.
    """

    def __init__(self, *problems: JsonProblem) -> None:
        super().__init__(problems[0].message)
        self.problems = problems


class Reading(NamedTuple):
    """What becomes of a value.

    Args:
        words: The words that follow the option; none for a boolean.
        value: What vLLM sees.
    """

    words: tuple[str, ...]
    value: Any


def spelled(value: Any) -> str:
    """A single value as the spec spells it: a float keeps its digits, text stays as it is.

    Raises:
        UnfitValueError: It is no text and no number.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong("a single value", value)
    return str(getattr(value, "text", value))


def wrong(expected: str, value: Any, remedy: str = "", code: str = "value-type") -> UnfitValueError:
    """The error for a value that must be something else.

    Args:
        expected: The end of "must be …".
        value: What the spec holds.
        remedy: What to write instead.
        code: Kebab-case name of the kind of problem.
    """
    return UnfitValueError(JsonProblem(code, (), f"{shown(value)} must be {expected}", remedy))


def shown(value: Any) -> str:
    """A value in a message, cut to a length that fits a line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = f'"{value}"' if isinstance(value, str) else str(getattr(value, "text", value))
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 1] + "…"


_SHOWN_LENGTH: Final = 60


def is_unset(option: Option, word: str) -> bool:
    """Whether vLLM reads the word as "not given" (its `optional_type`)."""
    return option.accepts_none and word in {"", "None"}
