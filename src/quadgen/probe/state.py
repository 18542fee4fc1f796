"""What `status` knows about a service when nothing of it runs: starts, verdicts, restarts, with reasons.

Two files a service, because gate and watch run at the same time: `start.json` is written by what runs in
the unit itself, one process after the other, and `watch.json` by the watch. Both are bounded, replaced as
a whole, and worth nothing without the other's being whole: a damaged one is as good as none.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_STARTS = 20
_MOST_KILLS = 20
_MOST_VERDICTS = 50


def folder(environ: Mapping[str, str]) -> Path:
    """Where the state of all services lies: `$XDG_STATE_HOME/quadgen/probe`."""
    home = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME") or Path.home()) / ".local" / "state")
    return Path(home) / "quadgen" / "probe"


class ServiceState(NamedTuple):
    """The two files of one service.

    Args:
        folder: The state folder of all services.
        service: Name in the spec.
    """

    folder: Path
    service: str

    def starts(self) -> list[dict[str, Any]]:
        """The last starts, oldest first; see `record_start`."""
        return _rows(self._read("start.json"), "starts")

    def last_start(self) -> dict[str, Any]:
        """The last start, or an empty table."""
        return next(reversed(self.starts()), {})

    def watch(self) -> dict[str, Any]:
        """What the watch wrote last: `state`, `since`, `looked`, `evidence`, `verdicts`, `kills`."""
        return self._read("watch.json")

    def record_start(self, invocation: str, **facts: Any) -> dict[str, Any]:
        """Add facts to the record of one start, and begin it where it has none.

        The facts of a record: `began`, `phases` (seconds by phase), `outcome` (`loading`, `serving`,
        `failed`, `ended`), `reason` (a table), `ended`, `exit`, `seconds`.
        """
        starts = self.starts()
        record = next((row for row in starts if row.get("invocation") == invocation), None)
        if record is None:
            record = {"invocation": invocation}
            starts.append(record)
        record.update(facts)
        self._write("start.json", {"starts": starts[-_MOST_STARTS:]})
        return record

    def record_watch(self, facts: dict[str, Any]) -> None:
        """Replace what the watch says; `verdicts` and `kills` are cut to the last ones."""
        bounded = facts | {
            "verdicts": _rows(facts, "verdicts")[-_MOST_VERDICTS:],
            "kills": _rows(facts, "kills")[-_MOST_KILLS:],
        }
        self._write("watch.json", bounded)

    def forget(self) -> None:
        """Remove all of it, for an uninstalled service."""
        place = self.folder / self.service
        for name in ("start.json", "watch.json"):
            (place / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            place.rmdir()

    def _read(self, name: str) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError):
            table = json.loads((self.folder / self.service / name).read_text(encoding="utf-8"))
            if isinstance(table, dict):
                return table
        return {}

    def _write(self, name: str, table: dict[str, Any]) -> None:
        place = self.folder / self.service
        draft = place / f".{name}.{os.getpid()}"
        # A full disk must not fail a start or end a watch; `status` then knows less.
        with contextlib.suppress(OSError):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_text(json.dumps(table, ensure_ascii=False) + "\n", encoding="utf-8")
            draft.replace(place / name)
            return
        with contextlib.suppress(OSError):
            draft.unlink()


def _rows(table: dict[str, Any], key: str) -> list[dict[str, Any]]:
    rows = table.get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
