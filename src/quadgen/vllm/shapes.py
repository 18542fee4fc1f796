"""The types of the fields of vLLM's JSON options, and what each accepts.

vLLM hands the JSON text of such an option to pydantic, which converts as well as checks: `"3"` is a
number, `1` is true, `3.0` is an integer. The functions here accept and refuse the same values and give the
value that vLLM then sees (pydantic's conversion table, lax mode, JSON input; compared with the real parser
by `scripts/differential`).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_TRUE: Final = frozenset({"1", "on", "t", "true", "y", "yes"})
_FALSE: Final = frozenset({"0", "off", "f", "false", "n", "no"})
# pydantic reads a float as an integer only within the range of a 64-bit integer.
_EXACT_FLOAT: Final = 2.0**63


class ShapeError(Exception):
    """A value does not fit its type.

    Args:
        expected: What would fit, as the end of "must be …".
        path: Keys and indexes below the value that was handed in.
        choices: Every value that would fit, where they can be listed.
    """

    def __init__(
        self, expected: str, path: tuple[str | int, ...] = (), choices: tuple[Any, ...] = ()
    ) -> None:
        super().__init__(expected)
        self.expected = expected
        self.path = path
        self.choices = choices


@dataclass(frozen=True, slots=True)
class Shape:
    """One type: its kind, the types inside it, and for a literal its values."""

    kind: str
    inner: tuple[Shape, ...] = ()
    values: tuple[Any, ...] = ()
    name: str = ""
    any_case: bool = False


@cache
def parse_type(text: str, choices: tuple[Any, ...] = (), *, any_case: bool = False) -> Shape:
    """Read a type as the catalog writes it.

    Args:
        text: Such as `list[int | text] | none`; a name that is none of these is a class.
        choices: The values that `choice` stands for.
        any_case: Whether text among them may be written in any case.
    """
    choice = Shape("literal", values=choices, any_case=any_case)
    return _shape(ast.parse(text, mode="eval").body, choice)


_PLAIN: Final = frozenset({"bool", "int", "float", "text", "any", "none"})


def _shape(node: ast.expr, choice: Shape) -> Shape:
    if isinstance(node, ast.BinOp):
        return _union((_shape(node.left, choice), _shape(node.right, choice)))
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return Shape(ast.unparse(node.value), tuple(_shape(part, choice) for part in inner))
    name = ast.unparse(node)
    if name == "choice":
        return choice
    return Shape(name if name in _PLAIN else "named", name=name)


def _union(parts: tuple[Shape, ...]) -> Shape:
    flat: list[Shape] = []
    for part in parts:
        flat += part.inner if part.kind == "union" else (part,)
    return Shape("union", inner=tuple(flat))


def describe(shape: Shape) -> str:
    """A type in words, to end the sentence "must be …"."""
    if shape.kind == "union":
        return " or ".join(dict.fromkeys(describe(part) for part in shape.inner if part.kind != "none"))
    if shape.kind == "literal":
        return listed(shape.values)
    if shape.kind in {"list", "set"}:
        return f"a list ({describe(shape.inner[0])})"
    return _WORDS.get(shape.kind, "a table")


_WORDS: Final = {
    "bool": "true or false",
    "int": "an integer",
    "float": "a number",
    "text": "text",
    "any": "any value",
    "none": "nothing",
    "tuple": "a list",
}


def listed(choices: Iterable[Any], name: str = "") -> str:
    """What may be chosen, as the end of "must be …"; long lists are only counted.

    Args:
        choices: The values.
        name: The option, for whoever wants the whole list.
    """
    words = [str(choice) for choice in choices]
    if len(words) <= _LISTED:
        return "one of " + ", ".join(words)
    return f"one of the {len(words)} that vLLM knows" + (f" (quadgen options {name})" if name else "")


_LISTED: Final = 16


def coerce(shape: Shape, value: Any, named: Callable[[str, Any], Any]) -> Any:
    """The value that vLLM sees.

    Args:
        shape: The type of the field.
        value: What the JSON text holds there.
        named: What to do with the value of a type that has only a name: an enumeration or another class.

    Raises:
        ShapeError: vLLM would refuse the value.
    """
    if shape.kind == "named":
        return named(shape.name, value)
    if shape.kind == "union":
        return _coerce_union(shape, value, named)
    if shape.kind in {"list", "set", "tuple", "dict"}:
        return _coerce_container(shape, value, named)
    return _SCALARS[shape.kind](shape, value)


def _coerce_union(shape: Shape, value: Any, named: Callable[[str, Any], Any]) -> Any:
    """An exact match wins over one that needs a conversion; among equals the first."""
    for part in shape.inner:
        if _is_exact(part, value):
            return coerce(part, value, named)
    failure: ShapeError | None = None
    for part in shape.inner:
        try:
            return coerce(part, value, named)
        except ShapeError as error:
            if part.kind != "none" and (failure is None or len(error.path) > len(failure.path)):
                failure = error
    if failure is not None and (failure.path or failure.choices):
        raise failure
    raise ShapeError(describe(shape))


def _is_exact(shape: Shape, value: Any) -> bool:
    if shape.kind == "literal":
        return any(value == other and type(value) is type(other) for other in shape.values)
    return _EXACT.get(shape.kind) is type(value)


_EXACT: Final = {
    "bool": bool,
    "int": int,
    "float": float,
    "text": str,
    "dict": dict,
    "none": type(None),
}


def _coerce_container(shape: Shape, value: Any, named: Callable[[str, Any], Any]) -> Any:
    if shape.kind == "dict":
        if not isinstance(value, dict):
            raise ShapeError("a table")
        inner = shape.inner[1] if shape.inner else Shape("any")
        return {key: _at(key, inner, item, named) for key, item in value.items()}
    if not isinstance(value, list):
        raise ShapeError(describe(shape))
    inners = shape.inner if shape.kind == "tuple" else shape.inner * len(value)
    if len(inners) != len(value):
        raise ShapeError(f"a list of {len(inners)}")
    return [
        _at(index, inner, item, named) for index, (inner, item) in enumerate(zip(inners, value, strict=True))
    ]


def _at(key: str | int, shape: Shape, value: Any, named: Callable[[str, Any], Any]) -> Any:
    try:
        return coerce(shape, value, named)
    except ShapeError as error:
        raise ShapeError(str(error), (key, *error.path), error.choices) from None


def _bool(shape: Shape, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in {0, 1}:
        return bool(value)
    if isinstance(value, str) and value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    raise ShapeError(describe(shape))


def _int(shape: Shape, value: Any) -> int:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_FLOAT:
        return int(value)
    if isinstance(value, str) and value.isascii() and not value.strip().endswith("."):
        whole, _, zeros = value.strip().partition(".")
        if not zeros.strip("0"):
            try:
                return int(whole)
            except ValueError:
                pass
    raise ShapeError(describe(shape))


def _float(shape: Shape, value: Any) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
    raise ShapeError(describe(shape))


def _text(shape: Shape, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ShapeError(describe(shape))


def _none(shape: Shape, value: Any) -> None:
    if value is not None:
        raise ShapeError(describe(shape))


def _literal(shape: Shape, value: Any) -> Any:
    for other in shape.values:
        same_kind = isinstance(value, bool) == isinstance(other, bool)
        if value == other and same_kind:
            return other
        if (
            shape.any_case
            and isinstance(value, str)
            and isinstance(other, str)
            and value.lower() == other.lower()
        ):
            return other
    raise ShapeError(describe(shape), choices=shape.values)


_SCALARS: Final[dict[str, Callable[[Shape, Any], Any]]] = {
    "bool": _bool,
    "int": _int,
    "float": _float,
    "text": _text,
    "none": _none,
    "literal": _literal,
    "any": lambda _shape, value: value,
}
