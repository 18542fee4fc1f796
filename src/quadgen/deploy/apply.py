"""Carrying out a plan, so that a crash leaves the old set of files or the new one, and never a mix.

Quadgen's own sub-folder is exchanged as a whole (`swap`). Where that is not possible, files are replaced one
by one under a journal (`journal`), and the promise holds after the next run of `recover`.

One thing no file system offers: a generator that listed the folder before the exchange and opens the files
after it sees some of each. The reload that follows every installation sets that right.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from quadgen.deploy.disk import FILE_MODE, Disk
from quadgen.deploy.journal import Change, finish, replace_files
from quadgen.deploy.swap import clean_up, swap_folder
from quadgen.errors import DeployError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quadgen.deploy.lock import Lock
    from quadgen.deploy.place import Place
    from quadgen.deploy.plan import Entry, Plan

# Outside the Quadlet tree for an exchange: Quadlet before 5.2 reads every sub-folder, whatever its name.
_SWAP_WORK = ".quadgen-install"
# Beside the files for a journal, since only there they can surely be renamed into place.
_JOURNAL_WORK = ".quadgen-journal"


@dataclass(frozen=True, slots=True)
class Applied:
    """What was done.

    Args:
        entries: The plan's changes, all of them carried out.
        method: How: a whole folder exchanged, files replaced under a journal, or nothing to do.
    """

    entries: tuple[Entry, ...]
    method: Literal["none", "swap", "journal"]


def apply(plan: Plan, lock: Lock, disk: Disk | None = None) -> Applied:
    """Carry out a plan.

    Args:
        plan: The plan; it must not be blocked.
        lock: Proof that nobody else does the same.
        disk: The writer, for tests.

    Raises:
        DeployError: The plan is blocked, the files changed since it was made, or the disk refuses.
    """
    if plan.blocked:
        reason = next(f for f in plan.findings if f.severity == "error")
        raise DeployError(reason.message, reason.remedy)
    if not plan.changes:
        return Applied((), "none")
    assert lock.place == plan.place, "the lock is for another place"  # noqa: S101 - a programming error
    with told():
        try:
            return _apply(plan, disk or Disk())
        except DeployError:
            recover(plan.place, lock)
            raise


def pending(place: Place) -> bool:
    """Whether a crash left something that `recover` has to see to."""
    return any(work.is_dir() for work in _works(place))


def recover(place: Place, lock: Lock, disk: Disk | None = None) -> None:
    """Finish or drop what an interrupted run left; nothing happens where there is nothing.

    Raises:
        DeployError: The disk refuses.
    """
    assert lock.place == place, "the lock is for another place"  # noqa: S101 - a programming error
    folder = place.folder.resolve()
    with told():
        for work in _works(place):
            if not work.is_dir():
                continue
            if work.name == _JOURNAL_WORK:
                finish(disk or Disk(), work)
            else:
                clean_up(disk or Disk(), work, folder)


def _apply(plan: Plan, disk: Disk) -> Applied:
    place = plan.place
    _check_owner(place)
    _make_base(disk, place)
    _check_folder(place)
    work = _swap_work(plan)
    if work is not None and _swap(plan, disk, work):
        # The change is made; what cannot be cleaned up now is left to the next run.
        with contextlib.suppress(OSError):
            clean_up(disk, work, place.folder.resolve())
        return Applied(plan.changes, "swap")
    _replace(plan, disk)
    return Applied(plan.changes, "journal")


def _swap(plan: Plan, disk: Disk, work: Path) -> bool:
    """Whether the folder was exchanged; if not, nothing has happened."""
    written = {e.name: (_encode(e.new), _mode(e.path)) for e in plan.changes if e.new is not None}
    removed = [entry.name for entry in plan.changes if entry.action == "remove"]
    folder = plan.place.folder
    try:
        swap_folder(
            disk,
            work,
            folder.resolve(),
            written,
            removed,
            keep_folder=folder.is_symlink(),
            last_look=lambda: _check_unchanged(plan),
        )
    except OSError:
        # The journal meets the same obstacle if it is one for both, and then tells.
        if work.is_dir():
            disk.remove_tree(work)
        return False
    return True


def _replace(plan: Plan, disk: Disk) -> None:
    place = plan.place
    folder = place.folder.resolve()
    if not folder.exists():
        disk.make_folder(folder)
    changes = (
        Change(
            path=entry.path.parent.resolve() / entry.name,
            old=None if entry.old is None else _encode(entry.old),
            new=None if entry.action == "remove" else _encode(entry.new or ""),
            mode=_mode(entry.path),
        )
        for entry in plan.changes
    )
    replace_files(disk, folder / _JOURNAL_WORK, changes, last_look=lambda: _check_unchanged(plan))
    if not place.flat and not place.folder.is_symlink() and not any(folder.iterdir()):
        disk.remove_empty_folder(folder)


def _swap_work(plan: Plan) -> Path | None:
    """Where the new folder can be built; None where it cannot."""
    place = plan.place
    if place.flat or any(entry.path.parent != place.folder for entry in plan.changes):
        return None
    folder = place.folder.resolve()
    device = _existing(folder).stat().st_dev
    for work in _swap_works(place):
        if work.parent.is_dir() and work.parent.stat().st_dev == device:
            return work
    return None


def _swap_works(place: Place) -> Iterator[Path]:
    base = place.base.resolve()
    yield base.parent / _SWAP_WORK
    # The sub-folder may be a link to another file system; then its neighbourhood does.
    beside = place.folder.resolve().parent
    if beside != base and base not in beside.parents and beside != base.parent:
        yield beside / _SWAP_WORK


def _works(place: Place) -> Iterator[Path]:
    yield place.folder.resolve() / _JOURNAL_WORK
    yield from _swap_works(place)


def _make_base(disk: Disk, place: Place) -> None:
    place.base.parent.parent.mkdir(parents=True, exist_ok=True)
    for folder in (place.base.parent, place.base):
        if not folder.is_dir():
            disk.make_folder(folder)
            disk.sync(folder.parent)


def _check_owner(place: Place) -> None:
    owner = _existing(place.base).stat().st_uid
    if os.getuid() == 0 and owner != 0:
        raise DeployError(
            f"{place.base} belongs to user {owner}, and this is root",
            "run quadgen as that user, without sudo",
        )


def _check_folder(place: Place) -> None:
    folder = place.folder
    if folder.is_symlink() and not folder.exists():
        raise DeployError(
            f"{folder} is a link to a folder that is not there", "make that folder, or remove the link"
        )
    if folder.exists() and not folder.is_dir():
        raise DeployError(f"{folder} is not a folder", "move it away")


def _check_unchanged(plan: Plan) -> None:
    for entry in plan.changes:
        try:
            now: str | None = entry.path.read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            now = None
        if now != entry.old:
            raise DeployError(f"{entry.path} changed while quadgen was at work", "run the command again")


def _mode(path: Path) -> int:
    """The mode of the file that is replaced: its owner may have made it private."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return FILE_MODE


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Turn what the disk refuses into an error with a remedy.

    Raises:
        DeployError: It refused.
    """
    try:
        yield
    except OSError as error:
        name = error.filename2 or error.filename or ""
        raise DeployError(
            f"{name}: {error.strerror}".removeprefix(": "), "mend that, then run the command again"
        ) from None
