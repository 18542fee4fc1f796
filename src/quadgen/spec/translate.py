"""What pydantic finds wrong, in quadgen's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from quadgen.findings import Finding
from quadgen.spec.refusal import REFUSED, did_you_mean, shown

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from quadgen.findings import KeyPath

M = TypeVar("M", bound=BaseModel)

# Keys whose value may be the secret itself by mistake: messages never repeat it.
_UNSPOKEN = frozenset({"api-key", "hf-token", "secrets"})

_KINDS = {
    "string_type": ("text", "write it in quotes"),
    "int_type": ("a whole number", "write it without quotes"),
    "bool_type": ("true or false", "write true or false, without quotes"),
    "dict_type": ("a table", "write it as a table: { key = value }"),
    "model_type": ("a table", "write it as a table: { key = value }"),
    "tuple_type": ("a list", "write it in brackets: [ … ]"),
    "greater_than_equal": ("large enough", "raise it to {ge}"),
    "less_than_equal": ("small enough", "lower it to {le}"),
}
_EXAMPLES = {"model": 'add model = "ORG/NAME", or an absolute path', "secret": 'add secret = "NAME"'}


def validate(model: type[M], values: dict[str, Any], path: KeyPath) -> tuple[M | None, list[Finding]]:
    """Make a model of a table, or tell all that is wrong with it.

    Args:
        model: The model's class.
        values: The table.
        path: Where the table stands in the spec.
    """
    try:
        return model.model_validate(values), []
    except ValidationError as error:
        return None, [_finding(details, path, model) for details in error.errors(include_url=False)]


def _finding(details: ErrorDetails, path: KeyPath, model: type[BaseModel]) -> Finding:
    inner = tuple(part for part in details["loc"] if part not in ("[key]", "name", "sections"))
    where = (*path, *inner)
    code, message, remedy = _words(details, inner, model)
    return Finding(severity="error", code=code, message=message, remedy=remedy, path=where)


def _words(details: ErrorDetails, inner: KeyPath, model: type[BaseModel]) -> tuple[str, str, str]:
    kind, context = details["type"], details.get("ctx", {})
    key = str(inner[-1]) if inner else ""
    value = "the value" if _UNSPOKEN.intersection(map(str, inner)) else shown(details["input"])
    if kind == REFUSED:
        return context["code"], context["message"], context["remedy"]
    if kind == "missing":
        return "missing-key", f"{key} is missing", _EXAMPLES.get(key, f"add {key}")
    if kind == "extra_forbidden":
        return (
            "unknown-key",
            f"there is no key {shown(key)} here",
            did_you_mean(key, _keys(model, inner[:-1])),
        )
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", context["expected"])
        return "bad-choice", f"{value} is not known here", did_you_mean(str(details["input"]), known)
    if kind in _KINDS:
        what, remedy = _KINDS[kind]
        return "bad-type", f"{value} is not {what}", remedy.format(**context)
    return "bad-value", details["msg"], "see the reference of the spec"


def _keys(model: type[BaseModel], inner: KeyPath) -> list[str]:
    """The keys of the table that an unknown key stands in."""
    for part in inner:
        if isinstance(part, str):
            model = _model_of(model, part) or model
    return [field.alias or name for name, field in model.model_fields.items() if name != "name"]


def _model_of(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    for name, field in model.model_fields.items():
        if (field.alias or name) == key:
            return _find_model(field.annotation)
    return None


def _find_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _find_model(argument)
        if found is not None:
            return found
    return None
