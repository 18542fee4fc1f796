"""What a key takes, as schemas of pydantic_core: https://docs.pydantic.dev/latest/api/pydantic_core_schema/."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from quadgen.spec.refusal import refuse, shown

if TYPE_CHECKING:
    from collections.abc import Callable

Schema: TypeAlias = dict[str, Any]


def text(check: Callable[[str], str] | None = None) -> Schema:
    """Text, which a function returns as it shall be, or refuses."""
    return {"type": "str"} if check is None else checked({"type": "str"}, check)


def number(*, least: int | None = None, most: int | None = None) -> Schema:
    """A whole number within bounds."""
    bounds = {"ge": least, "le": most}
    return {"type": "int", **{name: bound for name, bound in bounds.items() if bound is not None}}


def flag() -> Schema:
    """True or false."""
    return {"type": "bool"}


def choice(*words: str) -> Schema:
    """One of these words."""
    return {"type": "literal", "expected": list(words)}


def several(item: Schema) -> Schema:
    """A list, which becomes a tuple."""
    return checked({"type": "list", "items_schema": item}, tuple)


def distinct(item: Schema) -> Schema:
    """A list in which nothing stands twice."""
    return checked({"type": "list", "items_schema": item}, _distinct)


def one_or_more(items: Schema) -> Schema:
    """A list, or its one item without brackets; `metadata` says so to whoever describes the schema."""
    listed = prepared(lambda value: value if isinstance(value, list) else [value], items)
    return {**listed, "metadata": {"single": True}}


def mapping(name: Schema, value: Schema) -> Schema:
    """A table whose keys are the user's own."""
    return {"type": "dict", "keys_schema": name, "values_schema": value}


def anything(read: Callable[[Any], Any], *kinds: str) -> Schema:
    """Whatever a function can read; all else it refuses.

    Args:
        read: Makes the value of what stands in the spec.
        kinds: The types that it takes, in JSON Schema's words.
    """
    return {"type": "function-plain", "function": _function(read), "metadata": {"kinds": kinds}}


def prepared(prepare: Callable[[Any], Any], schema: Schema, *kinds: str) -> Schema:
    """What a schema takes once a function has brought it into the schema's form.

    Args:
        prepare: Returns the value in that form, or as it is.
        schema: Takes it then.
        kinds: The types that may stand in the spec beside the schema's own, in JSON Schema's words.
    """
    before = {"type": "function-before", "function": _function(prepare), "schema": schema}
    return {**before, "metadata": {"kinds": kinds}}


def checked(schema: Schema, check: Callable[[Any], Any]) -> Schema:
    """What a schema takes, which a function then returns as it shall be, or refuses."""
    return {"type": "function-after", "function": _function(check), "schema": schema}


def _function(function: Callable[[Any], Any]) -> Schema:
    return {"type": "no-info", "function": function}


def _distinct(items: list[Any]) -> tuple[Any, ...]:
    for index, item in enumerate(items):
        if item in items[:index]:
            refuse("twice", f"{shown(str(item))} stands here twice", "name it once")
    return tuple(items)
