from __future__ import annotations

import pytest

from quadgen.cli.table import Column, cell, cut, widths

COLUMNS = (
    Column(title="NAME", least=6),
    Column(title="N", align=">"),
    Column(title="MODEL", least=8, keep="end"),
)


@pytest.mark.parametrize(
    ("row", "total", "wide"),
    [
        (("a", "1", "b"), 80, [4, 1, 5]),
        (("a" * 10, "1", "b" * 20), 80, [10, 1, 20]),
        (("a" * 10, "1", "b" * 20), 30, [10, 1, 15]),
        (("a" * 10, "1", "b" * 20), 21, [8, 1, 8]),
        (("a" * 10, "1", "b" * 20), 5, [6, 1, 8]),
        (("a", "1" * 30, "b" * 20), 30, [4, 30, 8]),
    ],
    ids=["titles", "room enough", "the last gives way", "then the first", "no further", "some never do"],
)
def test_columns_give_way_from_the_last_one_on(row: tuple[str, ...], total: int, wide: list[int]) -> None:
    assert widths(COLUMNS, [row], total) == wide


@pytest.mark.parametrize(
    ("text", "width", "column", "shown"),
    [
        ("ab", 4, COLUMNS[0], "ab  "),
        ("ab", 4, COLUMNS[1], "  ab"),
        ("abcdef", 4, COLUMNS[0], "abc…"),
        ("abcdef", 4, COLUMNS[2], "…def"),
    ],
    ids=["left", "right", "start", "end"],
)
def test_a_cell_fills_its_width(text: str, width: int, column: Column, shown: str) -> None:
    assert cell(text, width, column) == shown


def test_nothing_fits_into_no_room() -> None:
    assert cut("abc", 0) == ""
