"""JSON values are converted and refused as pydantic does."""

from __future__ import annotations

from typing import Any

import pytest

from quadgen.vllm.shapes import ShapeError, coerce, describe, parse_type


def read(text: str, value: Any, *choices: Any, any_case: bool = False) -> Any:
    return coerce(parse_type(text, choices, any_case=any_case), value, lambda name, item: (name, item))


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("bool", "YES", True),
        ("bool", 1.0, True),
        ("int", "3", 3),
        ("int", " 3_0 ", 30),
        ("int", "3.0", 3),
        ("int", 3.0, 3),
        ("int", True, 1),
        ("float", "1e3", 1000.0),
        ("float", 3, 3.0),
        ("text | none", None, None),
        ("int | text", "7", "7"),
        ("list[int | text] | none", [1, "2"], [1, "2"]),
        ("list[int]", ["1", 2], [1, 2]),
        ("tuple[int, int]", [1, 2], [1, 2]),
        ("dict[text, int]", {"a": "1"}, {"a": 1}),
        ("dict[text, any] | any", 5, 5),
        ("list[Thing]", [1], [("Thing", 1)]),
    ],
)
def test_what_pydantic_takes_is_taken(text: str, value: Any, expected: Any) -> None:
    got = read(text, value)
    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("bool", 2),
        ("bool", " true"),
        ("int", 3.5),
        ("int", "1e3"),
        ("int", ""),
        ("int", 1e30),
        ("float", "x"),
        ("text", 1),
        ("none", 0),
        ("list[int]", "1"),
        ("list[int]", {"a": 1}),
        ("tuple[int, int]", [1]),
        ("dict[text, text]", {"a": 1}),
        ("int | none", "x"),
    ],
)
def test_what_pydantic_refuses_is_refused(text: str, value: Any) -> None:
    with pytest.raises(ShapeError):
        read(text, value)


def test_a_choice_is_exact_unless_any_case_goes() -> None:
    assert read("choice | none", "a", "a", "b") == "a"
    assert read("choice", "FULL", "full", any_case=True) == "full"
    assert read("choice", 2.0, 2, 3) == 2
    with pytest.raises(ShapeError, match="one of a, b"):
        read("choice | none", "A", "a", "b")
    with pytest.raises(ShapeError):
        read("choice", True, 1)


def test_an_error_says_where() -> None:
    with pytest.raises(ShapeError, match="an integer") as caught:
        read("dict[text, list[int]]", {"a": [1, "x"]})
    assert caught.value.path == ("a", 1)


def test_a_type_is_described_in_words() -> None:
    assert describe(parse_type("list[int] | none")) == "a list (an integer)"
    assert describe(parse_type("bool | text")) == "true or false or text"
