"""Tables that fit the terminal: columns give way in a set order, and a cut is shown."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column.

    Args:
        title: Its heading.
        least: How narrow it may become; 0 keeps it whole.
        align: Where its cells stand.
        keep: Which end of a cell matters more.
    """

    title: str
    least: int = 0
    align: Literal["<", ">"] = "<"
    keep: Literal["start", "end"] = "start"


def terminal_width() -> int:
    """Columns of the terminal, 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], total: int) -> list[int]:
    """How wide each column becomes; the last of those that may give way does so first."""
    found = [
        max(len(column.title), *(len(row[index]) for row in rows), 0) for index, column in enumerate(columns)
    ]
    excess = sum(found) + _GAP * (len(columns) - 1) - total
    for index, column in reversed(list(enumerate(columns))):
        if excess > 0 and column.least:
            given = min(excess, max(0, found[index] - max(column.least, len(column.title))))
            found[index] -= given
            excess -= given
    return found


def cell(text: str, width: int, column: Column) -> str:
    """A cell, cut or filled up."""
    return f"{cut(text, width, keep=column.keep):{column.align}{width}}"


def cut(text: str, width: int, *, keep: Literal["start", "end"] = "start") -> str:
    """A text of at most `width` letters; a cut is shown by `…`."""
    if len(text) <= width:
        return text
    if width < 1:
        return ""
    return "…" + text[len(text) - width + 1 :] if keep == "end" else text[: width - 1] + "…"
