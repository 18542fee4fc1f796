"""JSON Schema of a spec, for editors: https://json-schema.org/draft/2020-12.

Everything follows from the rows of the tables and from the catalog of one vLLM release. It knows names,
types, choices and bounds of numbers; what only a function can judge, `check` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadgen.spec import table
from quadgen.spec.load import COMPANIONS
from quadgen.spec.models import Service

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quadgen.spec.schema import Schema
    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.option import JsonClass, Option

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {"str": "string", "int": "integer", "bool": "boolean"}
# Dotted keys, underscores, negative forms and short names: `check` knows which of them there are.
_OTHER_SPELLINGS = "[._]|^no-|^disable-|^enable-|^.{1,4}$"
_BOUNDS = {"ge": "minimum", "le": "maximum"}


def spec_schema(catalog: Catalog) -> dict[str, Any]:
    """The schema of a whole spec.

    Args:
        catalog: The vLLM release whose options `serve` takes.
    """
    service = _table(Service)
    service["properties"]["serve"] |= _serve(catalog)
    defaults = {**service, "required": []}
    unit = {"type": "object", "additionalProperties": {"$ref": "#/$defs/unit"}}
    return {
        "$schema": _DIALECT,
        "title": f"quadgen.toml for vLLM {catalog.release}",
        "type": "object",
        "properties": {
            "defaults": {**defaults, "description": "Merged under every service."},
            "service": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": service,
                "description": "One table for each served model; its name becomes the unit's.",
            },
            **{kind: {**unit, "description": f"Units of kind .{kind}."} for kind in COMPANIONS},
        },
        "required": ["service"],
        "additionalProperties": False,
        "$defs": {"unit": {"type": "object"}},
    }


def _table(cls: type) -> dict[str, Any]:
    rows = table.keys(cls)
    return {
        "type": "object",
        "properties": {name: {"description": row.summary, **_of(row.schema)} for name, row in rows.items()},
        "required": [name for name, row in rows.items() if row.factory is None],
        "additionalProperties": False,
    }


def _of(schema: Schema) -> dict[str, Any]:
    """What takes the values that a schema of pydantic_core takes, or a little more."""
    kind, metadata = schema["type"], schema.get("metadata", {})
    if kind == "dataclass":
        found = _table(schema["cls"])
    elif kind == "function-plain":
        return {"type": list(metadata["kinds"])}
    elif kind.startswith("function-"):
        found = _of(schema["schema"])
    elif kind == "literal":
        found = {"enum": list(schema["expected"])}
    elif kind == "list":
        found = {"type": "array", "items": _of(schema["items_schema"])}
    elif kind == "dict":
        found = {"type": "object", "additionalProperties": _of(schema["values_schema"])}
    else:
        bounds = {_BOUNDS[name]: schema[name] for name in _BOUNDS if name in schema}
        found = {"type": _PLAIN[kind], **bounds}
    return _also(found, metadata)


def _also(found: dict[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    if metadata.get("single"):
        return {"anyOf": [found["items"], found]}
    if metadata.get("kinds"):
        return {"anyOf": [{"type": list(metadata["kinds"])}, found]}
    return found


def _serve(catalog: Catalog) -> dict[str, Any]:
    options = {name: _option(option, catalog) for name, option in catalog.options.items()}
    return {
        "properties": options,
        "patternProperties": {_OTHER_SPELLINGS: {}},
        "additionalProperties": False,
    }


_KINDS: dict[str, dict[str, Any]] = {
    "flag": {"type": "boolean"},
    "boolean": {"type": "boolean"},
    "int": {"type": ["integer", "string"]},
    "float": {"type": ["number", "string"]},
    "text": {"type": ["string", "integer", "number"]},
    "size": {"type": ["integer", "string"]},
    "size-or-auto": {"type": ["integer", "string"]},
    "json": {"type": ["object", "array", "string"]},
    "json-or-text": {"type": ["object", "string"]},
    "lora": {"type": ["array", "string", "object"]},
    "level": {"type": ["integer", "string"]},
}


def _option(option: Option, catalog: Catalog) -> dict[str, Any]:
    found: dict[str, Any] = {"description": option.summary}
    if option.deprecated:
        found["deprecated"] = True
    if option.choices and option.kind == "choice" and not option.folds:
        found["enum"] = list(option.choices)
    elif option.kind in _KINDS:
        found |= _KINDS[option.kind]
    if option.arity == "?":
        found = {"description": option.summary, "anyOf": [{"const": True}, found]}
    if option.json_class and option.kind == "json":
        known = _object(catalog.json_class(option.json_class))
        return {"description": option.summary, "anyOf": [known, {"type": "string"}]}
    return found


def _object(json_class: JsonClass) -> dict[str, Any]:
    keys: dict[str, Any] = {
        name: {"enum": list(key.choices)} if key.choices else {} for name, key in json_class.keys.items()
    }
    more = json_class.open or not json_class.checked
    return {"type": "object", "properties": keys, "additionalProperties": more}
