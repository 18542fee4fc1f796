"""Replacing files one by one, so that the next run can finish what a crash interrupted.

For a folder that also holds other people's files (Podman before 4.7), and wherever a whole folder cannot be
exchanged: a file system without RENAME_EXCHANGE (NFS, older ZFS, some FUSE ones), a bind mount, a file of
another user among the files. The new files are written beside the old ones under names that Quadlet does not
read, then a journal, and with the journal in place the change is decided: it is carried out now, or by the
next run.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from quadgen.deploy.disk import Disk

_JOURNAL = "journal.json"


@dataclass(frozen=True, slots=True)
class Step:
    """One file of a journal.

    Args:
        path: The file.
        old: SHA-256 of its content before; None where it does not exist.
        new: Name of the new file in the work folder; None to remove it.
    """

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """One file to replace, make or remove.

    Args:
        path: The file.
        old: Its content; None where it does not exist.
        new: Its content afterwards; None to remove it.
        mode: Its mode afterwards.
    """

    path: Path
    old: bytes | None
    new: bytes | None
    mode: int


def replace_files(disk: Disk, work: Path, changes: Iterable[Change], last_look: Callable[[], None]) -> None:
    """Carry out changes that the next run finishes if this one cannot.

    Args:
        disk: The writer.
        work: A folder to make for the work, on the file system of the files.
        changes: What to do.
        last_look: Called when all is ready; what it raises stops the change.
    """
    disk.make_folder(work)
    steps = []
    for number, change in enumerate(changes):
        new = None if change.new is None else str(number)
        if new is not None and change.new is not None:
            disk.write(work / new, change.new, change.mode)
        steps.append(Step(str(change.path), _digest(change.old), new))
    disk.write(work / "draft", json.dumps([asdict(step) for step in steps]).encode())
    disk.sync(work)
    disk.sync(work.parent)
    last_look()
    disk.rename(work / "draft", work / _JOURNAL)
    disk.sync(work)
    finish(disk, work)


def finish(disk: Disk, work: Path) -> None:
    """Carry out a journal, or drop the preparations of one that was never decided."""
    for step in _steps(work / _JOURNAL):
        _take(disk, work, step)
    for folder in {Path(step.path).parent for step in _steps(work / _JOURNAL)}:
        disk.sync(folder)
    if (work / _JOURNAL).exists():
        disk.remove(work / _JOURNAL)
    disk.remove_tree(work)


def _take(disk: Disk, work: Path, step: Step) -> None:
    path = Path(step.path)
    try:
        now = _digest(path.read_bytes())
    except FileNotFoundError:
        now = None
    # Done already, or changed by somebody else since: not ours to touch any more.
    if now != step.old:
        return
    if step.new is not None:
        disk.rename(work / step.new, path)
    elif now is not None:
        disk.remove(path)


def _steps(journal: Path) -> list[Step]:
    try:
        text = journal.read_bytes()
    except FileNotFoundError:
        return []
    return [Step(**fields) for fields in json.loads(text)]


def _digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()
