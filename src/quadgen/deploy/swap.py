"""Replacing a whole folder in one step.

The new folder is built beside the Quadlet tree, on the same file system, with the files that stay as hard
links (so their times do not change, and systemd does not think that they did). `renameat2` then exchanges
the two. Until that call the old set is in force, after it the new one; a crash leaves at most a work folder,
which the next run removes.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from quadgen.deploy.disk import Disk

# The new folder before the exchange, the old one after it.
_TREE = "tree"
# Tells them apart after a crash: the new one's inode number, and the names that it replaces.
_READY = "ready.json"


def swap_folder(
    disk: Disk,
    work: Path,
    folder: Path,
    written: Mapping[str, tuple[bytes, int]],
    removed: Collection[str],
    *,
    keep_folder: bool,
    last_look: Callable[[], None],
) -> None:
    """Give a folder its new content in one step; `clean_up` must follow.

    Args:
        disk: The writer.
        work: A folder to make for the work, on the file system of `folder`.
        folder: The folder, not a symbolic link; it need not exist.
        written: Names with content and mode.
        removed: Names to leave out.
        keep_folder: Leave an empty folder where nothing remains; else there is none afterwards.
        last_look: Called when all is ready; what it raises stops the exchange.

    Raises:
        OSError: Something cannot be linked, or the file system cannot exchange; the old set is in force.
    """
    tree = work / _TREE
    disk.make_folder(work)
    disk.make_folder(tree)
    if folder.exists():
        _carry(disk, folder, tree, skip={*written, *removed})
    for name, (data, mode) in written.items():
        disk.write(tree / name, data, mode)
    disk.sync(tree)
    ready = {"inode": tree.stat().st_ino, "names": [*written, *removed]}
    disk.write(work / _READY, json.dumps(ready).encode())
    if not folder.exists():
        last_look()
        disk.rename(tree, folder)
    elif keep_folder or any(tree.iterdir()):
        last_look()
        disk.exchange(tree, folder)
    else:
        disk.remove_empty_folder(tree)
        last_look()
        disk.rename(folder, tree)


def clean_up(disk: Disk, work: Path, folder: Path) -> None:
    """Finish an exchange, or drop the preparations of one that a crash prevented."""
    disk.sync(folder.parent)
    tree = work / _TREE
    ready = _ready(work)
    if ready is not None and tree.is_dir() and tree.stat().st_ino != ready["inode"]:
        _bring_back(disk, tree, folder, skip=ready["names"])
    disk.remove_tree(work)


def _ready(work: Path) -> dict[str, Any] | None:
    try:
        fields = json.loads((work / _READY).read_bytes())
    except (FileNotFoundError, ValueError):  # not there yet, or written in part
        return None
    return dict(fields)


def _carry(disk: Disk, source: Path, target: Path, skip: Collection[str] = ()) -> None:
    """Give everything in a folder a second name in another; sub-folders are made anew."""
    for entry in _entries(source):
        if entry.name in skip:
            continue
        new = target / entry.name
        if entry.is_dir(follow_symlinks=False):
            disk.make_folder(new)
            _carry(disk, source / entry.name, new)
        else:
            disk.link(source / entry.name, new)
    disk.copy_attributes(source, target)
    disk.sync(target)


def _bring_back(disk: Disk, old: Path, live: Path, skip: Collection[str] = ()) -> None:
    """Move over what others wrote into the old folder after it was carried and before the exchange."""
    for entry in _entries(old):
        source, target = old / entry.name, live / entry.name
        if entry.name in skip:
            continue
        if entry.is_dir(follow_symlinks=False) and target.is_dir():
            _bring_back(disk, source, target)
        elif _is_newer(source, target):
            if not live.exists():
                disk.make_folder(live)
            disk.rename(source, target)


def _is_newer(file: Path, other: Path) -> bool:
    try:
        there = other.lstat()
    except FileNotFoundError:
        return True
    here = file.lstat()
    return here.st_ino != there.st_ino and here.st_mtime_ns > there.st_mtime_ns


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from sorted(entries, key=lambda entry: entry.name)
