"""What remains when an installation is killed at any step."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quadgen.deploy.apply import pending, recover
from quadgen.deploy.disk import Disk
from quadgen.deploy.lock import exclusive

from .machine import Box, unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OLD = [
    unit("a.container", "a", body="[Container]\nImage=docker.io/x/a:1\n"),
    unit("b.container", "b", body="[Container]\nImage=docker.io/x/b:1\n"),
    unit("gone.container", "gone"),
    unit("same.volume", "a", "b", body="[Volume]\n"),
]
NEW = [
    unit("a.container", "a", body="[Container]\nImage=docker.io/x/a:2\n"),
    unit("b.container", "b", body="[Container]\nImage=docker.io/x/b:2\n"),
    unit("new.container", "new"),
    unit("same.volume", "a", "b", body="[Volume]\n"),
]
FOREIGN = {
    "mine.container": "[Container]\nImage=docker.io/hand/made:1\n",
    "a.container.d/10-more.conf": "[Container]\nLabel=a=b\n",
}
STEPS = (
    "make_folder",
    "write",
    "link",
    "copy_attributes",
    "rename",
    "exchange",
    "remove",
    "remove_empty_folder",
    "remove_tree",
    "sync",
)


class NoExchange(Disk):
    def exchange(self, one: Path, other: Path) -> None:  # noqa: ARG002
        raise OSError(22, "Invalid argument", str(other))


def dying(base: type[Disk], at: int, where: str) -> Disk:
    """A writer that ends the process before, inside or after its step number `at`."""
    count = -1

    def wrap(name: str) -> Callable[..., None]:
        def step(self: Disk, *args: Any) -> None:
            nonlocal count
            count += 1
            if count == at and where == "before":
                os._exit(9)
            if count == at and where == "inside":
                half(name, *args)
                os._exit(9)
            getattr(base, name)(self, *args)
            if count == at and where == "after":
                os._exit(9)

        return step

    return type("Dying", (base,), {name: wrap(name) for name in STEPS})()


def half(name: str, *args: Any) -> None:
    """What a step that is no single system call may leave behind."""
    if name == "write":
        args[0].write_bytes(args[1][: len(args[1]) // 2])
    elif name == "make_folder":
        args[0].mkdir()
    elif name == "remove_tree":
        for file in sorted(args[0].rglob("*"), reverse=True)[:2]:
            if not file.is_dir():
                file.unlink()


def in_child(work: Callable[[], object]) -> int:
    """Exit status of a process that does the work; 0 when it got to its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - the parent sees the status
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def own(box: Box) -> dict[str, str]:
    folder = box.place.folder
    files = folder.iterdir() if folder.is_dir() else ()
    return {f.name: f.read_text() for f in files if f.is_file() and f.name not in FOREIGN}


def foreign(box: Box) -> dict[str, str]:
    files = box.place.folder.rglob("*")
    found = {str(f.relative_to(box.place.folder)): f for f in files if f.is_file()}
    return {name: f.read_text() for name, f in found.items() if name in FOREIGN}


def texts(units: list[Any]) -> dict[str, str]:
    return {unit.name: unit.text for unit in units}


def every_crash(
    make: Callable[[str], Box], base: type[Disk], old: list[Any], new: list[Any], *, alone: bool = False
) -> Iterator[tuple[str, Box]]:
    """Boxes as crashes leave them, at every step until one run gets through."""
    for where in ("before", "inside"):
        for at in range(1000):
            box = make(f"{where}-{at}")
            if old:
                box.install(old, base())
            for name, text in {} if alone else FOREIGN.items():
                box.put(str((box.place.folder / name).relative_to(box.host.home)), text)
            status = in_child(lambda box=box, at=at, where=where: box.install(new, dying(base, at, where)))
            if status == 0:
                assert at > 5
                break
            assert status == 9
            yield f"{where} {at}", box


CASES = [
    pytest.param([], NEW, id="first"),
    pytest.param(OLD, NEW, id="update"),
    pytest.param(OLD, [], id="uninstall"),
]


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "among-foreign-files"])
@pytest.mark.parametrize(("old", "new"), CASES)
def test_killed_exchange_leaves_the_old_or_the_new_set(
    tmp_path: Path, old: list[Any], new: list[Any], *, alone: bool
) -> None:
    seen = set()
    for place, box in every_crash(lambda name: Box(tmp_path / name), Disk, old, new, alone=alone):
        found = own(box)
        assert found in (texts(old), texts(new)), place
        seen.add(found == texts(new))
        assert alone or foreign(box) == FOREIGN, place
        # Whatever lies in the tree that Quadlet reads belongs there.
        assert all(path.startswith("quadgen/") for path in box.tree())
        box.install(new)
        assert own(box) == texts(new), place
        assert alone or foreign(box) == FOREIGN, place
        assert not pending(box.place)
        assert [p.name for p in box.place.base.parent.iterdir()] == ["systemd"], place
        assert box.place.folder.exists() == bool(new or not alone)
    assert seen == {False, True}


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "among-foreign-files"])
@pytest.mark.parametrize(("old", "new"), CASES)
@pytest.mark.parametrize("podman", ["4.6.1", "5.4.2"], ids=["flat", "no-exchange"])
def test_killed_journal_is_finished_or_dropped_by_the_next_run(
    tmp_path: Path, old: list[Any], new: list[Any], podman: str, *, alone: bool
) -> None:
    seen = set()
    boxes = every_crash(lambda name: Box(tmp_path / name, podman), NoExchange, old, new, alone=alone)
    for place, box in boxes:
        with exclusive(box.place) as lock:
            recover(box.place, lock)
        assert not pending(box.place)
        found = own(box)
        assert found in (texts(old), texts(new)), place
        seen.add(found == texts(new))
        assert alone or foreign(box) == FOREIGN, place
        box.install(new, NoExchange())
        assert own(box) == texts(new), place
        assert not [p for p in box.place.base.parent.rglob("*") if p.name.startswith(".")]
    assert seen == {False, True}


@pytest.mark.parametrize("podman", ["4.6.1", "5.4.2"], ids=["flat", "no-exchange"])
def test_unfinished_journal_leaves_nothing_that_quadlet_reads(tmp_path: Path, podman: str) -> None:
    names = {*texts(OLD), *texts(NEW), *FOREIGN, "journal.json"}
    for place, box in every_crash(lambda name: Box(tmp_path / name, podman), NoExchange, OLD, NEW):
        for path in box.tree():
            name = path.removeprefix("quadgen/").removeprefix(".quadgen-journal/")
            assert name in names or "." not in name, place


def test_recovery_that_is_killed_too_is_repeated(tmp_path: Path) -> None:
    for _, box in every_crash(lambda name: Box(tmp_path / name, "4.6.1"), NoExchange, OLD, NEW):
        for at in range(100):

            def again(box: Box = box, at: int = at) -> None:
                with exclusive(box.place) as lock:
                    recover(box.place, lock, dying(Disk, at, "after"))

            if in_child(again) == 0:
                break
        assert own(box) in (texts(OLD), texts(NEW))


@pytest.mark.parametrize("seed", range(20))
def test_kill_signal_at_any_moment(tmp_path: Path, seed: int) -> None:
    box = Box(tmp_path)
    rounds = [OLD, NEW]
    box.install(OLD)

    def flip() -> None:
        for number in range(10_000):
            box.install(rounds[(number + 1) % 2])

    child = os.fork()
    if child == 0:
        flip()
        os._exit(0)
    time.sleep(random.Random(seed).uniform(0.01, 0.06))  # noqa: S311
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert own(box) in (texts(OLD), texts(NEW))
    box.install(NEW)
    assert own(box) == texts(NEW)
    assert not pending(box.place)


def test_every_file_is_on_the_medium_before_the_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[tuple[str, str]] = []
    box = Box(tmp_path)
    box.install(OLD)

    class Watched(Disk):
        def exchange(self, one: Path, other: Path) -> None:
            log.append(("exchange", str(one)))
            super().exchange(one, other)

    real = os.fsync

    def fsync(fd: int) -> None:
        log.append(("fsync", str(Path(f"/proc/self/fd/{fd}").readlink())))
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    box.install(NEW, Watched())
    at = next(i for i, (what, _) in enumerate(log) if what == "exchange")
    tree = log[at][1]
    before = {path for what, path in log[:at] if what == "fsync"}
    assert {f"{tree}/a.container", f"{tree}/b.container", f"{tree}/new.container", tree} <= before
    assert ("fsync", str(box.place.base)) in log[at:]
