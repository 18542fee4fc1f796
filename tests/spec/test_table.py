"""The rows of the spec say enough to make a reference and a JSON Schema of them."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

import pytest

from quadgen.spec.models import Companion, Probe, Quadlet, Restart, Service
from quadgen.spec.mounts import SecretUse, VolumeMount
from quadgen.spec.table import Row, header, inside, key, keys, rows, table, validator

if TYPE_CHECKING:
    from quadgen.spec.schema import Schema

TABLES = (Service, Probe, Restart, Quadlet, VolumeMount, SecretUse)
ROWS = [(cls, row) for cls in TABLES for row in rows(cls)]


@pytest.mark.parametrize(
    ("cls", "row"), ROWS, ids=lambda value: getattr(value, "name", value.__class__.__name__)
)
def test_a_row_says_what_its_key_is_for_in_one_line(cls: type, row: Row) -> None:
    assert row.summary.endswith(".")
    assert len(row.summary) <= 100
    assert row.summary.isprintable()


@pytest.mark.parametrize(
    ("cls", "row"), ROWS, ids=lambda value: getattr(value, "name", value.__class__.__name__)
)
def test_a_row_says_which_types_its_key_takes(cls: type, row: Row) -> None:
    assert types_in(row.schema)


def types_in(schema: Schema) -> set[str]:
    """As a JSON Schema would be made of it: the types of the innermost schema, and those that functions add."""
    own = set(schema.get("metadata", {}).get("kinds", ()))
    named = {"str": "string", "bool": "boolean", "int": "integer", "list": "array", "dict": "object"}
    named |= {"dataclass": "object", "literal": "string"}
    if schema["type"] in named:
        return {named[schema["type"]]}
    return own | (types_in(schema["schema"]) if "schema" in schema else set())


@pytest.mark.parametrize("cls", [cls for cls in TABLES if cls is not Quadlet], ids=lambda cls: cls.__name__)
def test_keys_are_written_with_dashes(cls: type) -> None:
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in keys(cls))


def test_what_stands_in_the_header_is_no_key() -> None:
    assert "name" not in keys(Service)
    assert keys(Companion) == {}
    assert [row.attribute for row in rows(Companion)] == ["kind", "name", "sections"]


def test_a_default_is_what_counts_when_the_key_is_left_out() -> None:
    service = validator(Service).validate_python({"[name]": "a", "model": "org/m"})
    for row in keys(Service).values():
        if row.factory is not None:
            assert getattr(service, row.attribute) == row.factory()
    assert [row.name for row in keys(Service).values() if row.factory is None] == ["model"]


def test_no_two_tables_share_a_default_that_can_change() -> None:
    one, other = (validator(Service).validate_python({"[name]": name, "model": "org/m"}) for name in "ab")
    assert one.env == other.env == {}
    assert one.env is not other.env


def test_a_table_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Probe().interval = 1


def test_a_new_table_needs_rows_and_no_more() -> None:
    @table
    class Oven:
        name: str = header({"type": "str"}, "Which oven.")
        top_heat: int = key({"type": "int"}, "Degrees at the top.", default=180)
        tray: str = key({"type": "str"}, "Where the tray goes.", alias="Tray")

    made = validator(Oven).validate_python({"[name]": "left", "Tray": "middle"})
    assert made == Oven(name="left", tray="middle", top_heat=180)
    assert inside(Oven)["fields"] == ["name", "top_heat", "tray"]
    assert list(keys(Oven)) == ["top-heat", "Tray"]
