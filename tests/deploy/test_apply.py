from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from quadgen.deploy.apply import apply, pending
from quadgen.deploy.disk import Disk
from quadgen.deploy.lock import exclusive
from quadgen.errors import DeployError

from .machine import Box, unit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

A = unit("a.container", "a")
B = unit("b.container", "b")
NEW_A = unit("a.container", "a", body="[Container]\nImage=docker.io/x/y:2\n")


class NoExchange(Disk):
    def exchange(self, one: Path, other: Path) -> None:  # noqa: ARG002
        raise OSError(95, "Operation not supported", str(other))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o022, 0o077, 0o000], ids=["022", "077", "000"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    old = os.umask(request.param)
    yield
    os.umask(old)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("podman", ["4.6.1", "5.4.2"])
def test_modes_do_not_depend_on_the_umask(tmp_path: Path, podman: str) -> None:
    box = Box(tmp_path, podman)
    box.install([A])
    assert mode(box.place.folder / "a.container") == 0o644
    assert mode(box.place.folder) == mode(box.place.base) == mode(box.place.base.parent) == 0o755


@pytest.mark.parametrize("podman", ["4.6.1", "5.4.2"])
def test_a_mode_that_the_user_chose_is_kept(tmp_path: Path, podman: str) -> None:
    box = Box(tmp_path, podman)
    box.install([A])
    (box.place.folder / "a.container").chmod(0o600)
    box.place.folder.chmod(0o700)
    box.install([NEW_A])
    assert mode(box.place.folder / "a.container") == 0o600
    assert mode(box.place.folder) == 0o700


@pytest.mark.parametrize(
    ("podman", "disk", "method"),
    [("5.4.2", Disk(), "swap"), ("5.4.2", NoExchange(), "journal"), ("4.6.1", Disk(), "journal")],
    ids=["own-folder", "no-exchange", "flat"],
)
def test_what_belongs_to_others_stays_the_same_file(
    tmp_path: Path, podman: str, disk: Disk, method: str
) -> None:
    box = Box(tmp_path, podman)
    box.install([A, B])
    folder = str(box.place.folder.relative_to(box.host.home))
    mine = box.put(f"{folder}/mine.container")
    drop_in = box.put(f"{folder}/a.container.d/10-more.conf", "[Container]\nLabel=a=b\n")
    drop_in.parent.chmod(0o750)
    link = box.place.folder / "link.network"
    link.symlink_to("../elsewhere.network")
    watched = [mine, drop_in, box.place.folder / "b.container"]
    before = [(file.stat().st_ino, file.stat().st_mtime_ns) for file in watched]
    assert box.install([NEW_A, B], disk).method == method
    assert [(file.stat().st_ino, file.stat().st_mtime_ns) for file in watched] == before
    assert mode(drop_in.parent) == 0o750
    assert str(link.readlink()) == "../elsewhere.network"
    assert (box.place.folder / "a.container").read_text() == NEW_A.text


class TestUninstall:
    def test_our_empty_folder_goes(self, box: Box) -> None:
        box.install([A, B])
        box.install([])
        assert not box.place.folder.exists()
        assert box.place.base.is_dir()

    def test_our_empty_folder_goes_without_exchange_too(self, box: Box) -> None:
        box.install([A, B], NoExchange())
        box.install([], NoExchange())
        assert not box.place.folder.exists()

    def test_a_folder_with_other_files_stays(self, box: Box) -> None:
        box.install([A])
        box.put(".config/containers/systemd/quadgen/a.container.d/x.conf", "[Container]\n")
        box.install([])
        assert box.tree() == {"quadgen/a.container.d/x.conf": "[Container]\n"}

    def test_the_shared_folder_stays(self, flat_box: Box) -> None:
        flat_box.install([A])
        flat_box.install([])
        assert flat_box.place.folder.is_dir()


class TestLinks:
    """Dotfiles managers put links in the place of configuration folders."""

    @pytest.mark.parametrize("where", ["", "containers", "containers/systemd", "containers/systemd/quadgen"])
    def test_a_linked_folder_is_changed_at_its_end(self, box: Box, where: str) -> None:
        link = box.host.config_home / where
        target = box.host.home / "dotfiles/there"
        target.mkdir(parents=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        for files in ([A, B], [NEW_A], []):
            box.install(files)
            assert link.is_symlink()
            folder = box.place.folder
            there = {f.name for f in folder.iterdir()} if folder.exists() else set()
            assert there == {f.name for f in files}
            assert not list(box.host.home.rglob(".quadgen-*"))
        assert target.is_dir()

    def test_the_target_is_exchanged(self, box: Box) -> None:
        target = box.host.home / "dotfiles/units"
        target.mkdir(parents=True)
        box.place.base.mkdir(parents=True)
        box.place.folder.symlink_to(target)
        assert box.install([A]).method == "swap"
        assert (target / "a.container").read_text() == A.text

    def test_a_link_to_nothing_is_told(self, box: Box) -> None:
        box.place.base.mkdir(parents=True)
        box.place.folder.symlink_to(box.host.home / "not-there")
        with pytest.raises(DeployError, match="is a link to a folder that is not there"):
            box.install([A])

    def test_a_file_in_the_place_of_our_folder_is_told(self, box: Box) -> None:
        box.put(".config/containers/systemd/quadgen", "")
        with pytest.raises(DeployError, match="quadgen: Not a directory"):
            box.install([A])


class TestRaces:
    @pytest.mark.parametrize("podman", ["4.6.1", "5.4.2"])
    def test_a_file_that_changes_meanwhile_stops_everything(self, tmp_path: Path, podman: str) -> None:
        box = Box(tmp_path, podman)
        box.install([A])
        plan = box.plan([NEW_A, B])
        (box.place.folder / "a.container").write_text("somebody was faster\n")
        before = box.tree()
        with (
            exclusive(box.place) as lock,
            pytest.raises(DeployError, match="changed while quadgen was at work"),
        ):
            apply(plan, lock)
        assert box.tree() == before
        assert not pending(box.place)

    def test_what_others_write_before_the_exchange_is_not_lost(self, box: Box) -> None:
        box.install([A, B])
        mine = box.put(".config/containers/systemd/quadgen/mine.container", "old\n")
        os.utime(mine, (1, 1))
        folder = box.place.folder

        class Busy(Disk):
            def exchange(self, one: Path, other: Path) -> None:
                for name in ("mine.container", "late.container", "a.container.d/late.conf"):
                    file = folder / name
                    file.parent.mkdir(exist_ok=True)
                    (folder / "temporary").write_text("late\n")
                    (folder / "temporary").rename(file)
                super().exchange(one, other)

        box.install([NEW_A], Busy())
        assert box.tree() == {
            "quadgen/a.container": NEW_A.text,
            "quadgen/a.container.d/late.conf": "late\n",
            "quadgen/late.container": "late\n",
            "quadgen/mine.container": "late\n",
        }

    def test_a_late_file_survives_the_removal_of_all_others(self, box: Box) -> None:
        box.install([A])
        folder = box.place.folder

        class Busy(Disk):
            def rename(self, source: Path, path: Path) -> None:
                if source == folder:
                    (folder / "late.container").write_text("late\n")
                super().rename(source, path)

        box.install([], Busy())
        assert box.tree() == {"quadgen/late.container": "late\n"}


def test_nothing_to_do_touches_nothing(box: Box) -> None:
    box.install([A])
    top = box.host.home
    before = {path: path.lstat().st_mtime_ns for path in (box.place.base, *box.place.base.rglob("*"))}
    plan = box.plan([A])
    with exclusive(box.place) as lock:
        assert apply(plan, lock).method == "none"
    assert {path: path.lstat().st_mtime_ns for path in before} == before
    assert not list(top.rglob(".quadgen-*"))


def test_a_blocked_plan_is_not_applied(box: Box) -> None:
    box.put(".config/containers/systemd/a.container")
    before = box.tree()
    with pytest.raises(DeployError, match=r"would hide a\.container"):
        box.install([A, B])
    assert box.tree() == before


def test_a_full_disk_is_told_and_changes_nothing(box: Box) -> None:
    class Full(Disk):
        def write(self, path: Path, data: bytes, mode: int = 0o644) -> None:  # noqa: ARG002
            raise OSError(28, "No space left on device", str(path))

    box.install([A])
    with pytest.raises(DeployError, match=r"/0: No space left on device"):
        box.install([NEW_A, B], Full())
    assert box.tree().get("quadgen/a.container") == A.text
    box.install([NEW_A])
    assert box.tree() == {"quadgen/a.container": NEW_A.text}


def test_trouble_after_the_exchange_is_left_to_the_next_run(box: Box) -> None:
    class Stuck(Disk):
        def remove_tree(self, path: Path) -> None:
            raise OSError(5, "Input/output error", str(path))

    box.install([A])
    assert box.install([NEW_A], Stuck()).method == "swap"
    assert pending(box.place)
    box.install([NEW_A])
    assert not pending(box.place)


def test_root_does_not_write_into_a_users_folder(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = box.host.home.stat().st_uid
    if owner == 0:
        os.chown(box.host.home, 1234, -1)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    with pytest.raises(DeployError, match="and this is root"):
        box.install([A])


def test_bytes_that_are_not_utf8_are_carried_by_a_comparison(box: Box) -> None:
    box.install([A])
    file = box.place.folder / "a.container"
    file.write_bytes(file.read_bytes() + b"\xff\n")
    box.install([NEW_A], overwrite=True)
    assert file.read_text() == NEW_A.text
