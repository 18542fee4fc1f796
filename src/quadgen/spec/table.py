"""Tables of the spec as dataclasses: one row for each key, with what it takes, its default and its use.

Reading, messages, the reference and the JSON Schema follow from the rows. pydantic_core, the part of pydantic
that does the work, makes instances of the classes. pydantic itself would read annotations in place of rows,
but to import it and to make its models takes longer than all the rest of a command.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, dataclass_transform

from pydantic_core import SchemaValidator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quadgen.spec.schema import Schema

T = TypeVar("T")
_ABSENT: Any = dataclasses.MISSING


def key(
    schema: Schema, summary: str, *, default: Any = _ABSENT, factory: Any = _ABSENT, alias: str = ""
) -> Any:
    """The row of one key, as a field of its table's class.

    Args:
        schema: What the key takes.
        summary: What it is for, in one line.
        default: What counts when the key is left out.
        factory: Makes the default, where each table needs its own; without either the key is required.
        alias: The key, where it is not the attribute with dashes for underscores.
    """
    field: Any = dataclasses.field
    metadata = {"schema": schema, "summary": summary, "alias": alias}
    return field(default=default, default_factory=factory, metadata=metadata)


def header(schema: Schema, summary: str) -> Any:
    """The row of what stands in a table's header and not below it, such as a service's name."""
    return dataclasses.field(metadata={"schema": schema, "summary": summary, "alias": None})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(key, header))
def table(cls: type[T]) -> type[T]:
    """Make a class of rows a frozen dataclass."""
    return dataclasses.dataclass(frozen=True, slots=True, kw_only=True)(cls)


class Row(NamedTuple):
    """One key of a table.

    Attributes:
        attribute: The attribute with its value.
        name: The key as users write it; in brackets what stands in the table's header.
        schema: What it takes.
        summary: What it is for, in one line.
        factory: Makes what counts when it is left out; None when it is required.
    """

    attribute: str
    name: str
    schema: Schema
    summary: str
    factory: Callable[[], Any] | None


def rows(cls: type) -> Iterator[Row]:
    """The rows of a table's class, those of its header included."""
    for field in dataclasses.fields(cls):
        schema, summary, alias = (field.metadata[part] for part in ("schema", "summary", "alias"))
        name = in_header(field.name) if alias is None else alias or field.name.replace("_", "-")
        yield Row(field.name, name, schema, summary, _factory(field))


def in_header(attribute: str) -> str:
    """The name of a row for what stands in a table's header."""
    return f"[{attribute}]"


def keys(cls: type) -> dict[str, Row]:
    """The rows of what can be written in a table."""
    return {row.name: row for row in rows(cls) if row.name != in_header(row.attribute)}


def _factory(field: dataclasses.Field[Any]) -> Callable[[], Any] | None:
    if field.default is not _ABSENT:
        return lambda: field.default
    factory: Any = field.default_factory
    return None if factory is _ABSENT else factory


def inside(cls: type) -> Schema:
    """What a key takes that is a table itself: one of this class."""
    found = list(rows(cls))
    return {
        "type": "dataclass",
        "cls": cls,
        "fields": [row.attribute for row in found],
        "schema": {
            "type": "dataclass-args",
            "dataclass_name": cls.__name__,
            "fields": [_argument(row) for row in found],
        },
        "slots": True,
        "post_init": hasattr(cls, "__post_init__"),
        "config": {"strict": True, "extra_fields_behavior": "forbid"},
        "strict": False,  # for the table as a whole: else only an instance of the class would do
    }


def _argument(row: Row) -> Schema:
    schema = row.schema
    if row.factory is not None:
        schema = {"type": "default", "schema": schema, "default_factory": row.factory}
    return {"type": "dataclass-field", "name": row.attribute, "validation_alias": row.name, "schema": schema}


@cache
def validator(cls: type) -> SchemaValidator:
    """What makes instances of a table's class; kept, as making it takes longer than using it."""
    return SchemaValidator(inside(cls))
