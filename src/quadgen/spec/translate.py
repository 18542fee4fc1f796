"""What pydantic_core finds wrong, in quadgen's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import ValidationError

from quadgen.findings import Finding
from quadgen.spec.refusal import REFUSED, did_you_mean, shown
from quadgen.spec.table import in_header, keys, rows, validator

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from quadgen.findings import KeyPath
    from quadgen.spec.schema import Schema

T = TypeVar("T")

# Keys whose value may be the secret itself by mistake: messages never repeat it.
_UNSPOKEN = frozenset({"api-key", "hf-token", "secrets"})

# What is wanted, and a remedy for str.format with the error's context.
_KINDS = {
    "string_type": ("text", "write it in quotes"),
    "int_type": ("a whole number", "write it without quotes"),
    "bool_type": ("true or false", "write true or false, without quotes"),
    "dict_type": ("a table", "write it as a table: {{ key = value }}"),
    "dataclass_type": ("a table", "write it as a table: {{ key = value }}"),
    "list_type": ("a list", "write it in brackets: [ … ]"),
    "greater_than_equal": ("large enough", "raise it to {ge}"),
    "less_than_equal": ("small enough", "lower it to {le}"),
}
_EXAMPLES = {"model": 'add model = "ORG/NAME", or an absolute path', "secret": 'add secret = "NAME"'}


def validate(
    cls: type[T], table: dict[str, Any], path: KeyPath, **header: Any
) -> tuple[T | None, list[Finding]]:
    """Make an instance of a table's class, or tell all that is wrong with the table.

    Args:
        cls: The class.
        table: What stands in the table.
        path: Where it stands in the spec.
        header: What its header says, by the class's attributes.
    """
    try:
        named = {in_header(attribute): value for attribute, value in header.items()}
        # mypy does not see that every class can be hashed.
        return validator(cls).validate_python({**table, **named}), []  # type: ignore[arg-type]
    except ValidationError as error:
        return None, [_finding(details, path, cls) for details in error.errors(include_url=False)]


def _finding(details: ErrorDetails, path: KeyPath, cls: type) -> Finding:
    # What the header says has no line of its own; `[key]` marks errors in the name of a key.
    unwritten = {"[key]", *(row.name for row in rows(cls))} - keys(cls).keys()
    inner = tuple(part for part in details["loc"] if part not in unwritten)
    code, message, remedy = _words(details, inner, cls)
    return Finding(severity="error", code=code, message=message, remedy=remedy, path=(*path, *inner))


def _words(details: ErrorDetails, inner: KeyPath, cls: type) -> tuple[str, str, str]:
    kind, context = details["type"], details.get("ctx", {})
    key = str(inner[-1]) if inner else ""
    value = "the value" if _UNSPOKEN.intersection(map(str, inner)) else shown(details["input"])
    if kind == REFUSED:
        return context["code"], context["message"], context["remedy"]
    if kind == "missing":
        return "missing-key", f"{key} is missing", _EXAMPLES.get(key, f"add {key}")
    if kind == "unexpected_keyword_argument":
        return "unknown-key", f"there is no key {shown(key)} here", did_you_mean(key, _keys(cls, inner[:-1]))
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", context["expected"])
        return "bad-choice", f"{value} is not known here", did_you_mean(str(details["input"]), known)
    if kind in _KINDS:
        what, remedy = _KINDS[kind]
        return "bad-type", f"{value} is not {what}", remedy.format(**context)
    return "bad-value", details["msg"], "see the reference of the spec"


def _keys(cls: type, inner: KeyPath) -> list[str]:
    """The keys of the table that an unknown key stands in."""
    for part in inner:
        row = keys(cls).get(str(part))
        cls = (_table_in(row.schema) if row else None) or cls
    return list(keys(cls))


def _table_in(schema: Schema) -> type | None:
    """The class of the tables in what a key takes."""
    if schema["type"] == "dataclass":
        cls: type = schema["cls"]
        return cls
    nested = (schema[part] for part in ("schema", "items_schema", "values_schema") if part in schema)
    return next(filter(None, map(_table_in, nested)), None)
