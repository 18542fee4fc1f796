"""Where in a TOML file each key stands.

The standard library's reader gives values without places. A TOML document is a row of statements, each
ending at a line's end, and a statement that is cut off never parses: so reading a growing group of lines
until it parses finds each statement, with the reader itself as the only judge of the syntax.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.findings import KeyPath


class Lines:
    """Line numbers of the keys of one TOML document that parses.

    Args:
        text: The document.
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {}
        header: KeyPath = ()
        for number, statement, table in _statements(text):
            if statement.lstrip().startswith("["):
                header = self._enter(table, number)
            else:
                self._note(header, table, number)

    def find(self, path: KeyPath) -> int | None:
        """The line of a key, or of the nearest table or list around it that has one."""
        for length in range(len(path), 0, -1):
            line = self._lines.get(path[:length])
            if line is not None:
                return line
        return None

    def _enter(self, table: Any, number: int) -> KeyPath:
        path: KeyPath = ()
        while table:
            ((key, inner),) = table.items()
            path = (*path, key)
            self._lines.setdefault(path, number)
            table = inner[0] if isinstance(inner, list) else inner
        return path

    def _note(self, path: KeyPath, value: Any, number: int) -> None:
        if path:
            self._lines.setdefault(path, number)
        if isinstance(value, dict):
            for key, inner in value.items():
                self._note((*path, key), inner, number)


def _statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    pending: list[str] = []
    start = 1
    for number, line in enumerate(text.split("\n"), 1):
        if not pending:
            start = number
            if not line.strip() or line.lstrip().startswith("#"):
                continue
        pending.append(line)
        statement = "\n".join(pending) + "\n"  # a carriage return is none without it
        try:
            table = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        yield start, statement, table
        pending = []
