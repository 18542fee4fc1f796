"""What units run: whole, alone, and never half there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from quadgen.deploy.disk import Disk
from quadgen.deploy.runtime import Runtime, RuntimePlace, base_python, outdated, own_runtime
from quadgen.probe.probefile import ProbeFile, Server

from .test_crash import dying, in_child

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL = Runtime(
    {"start.py": b"print(1)\n", "quadgen/__init__.py": b"", "quadgen-probe": b"#!/bin/sh\n"}, "cpython-1"
)
NEXT = Runtime({**SMALL.files, "start.py": b"print(2)\n"}, "cpython-1")


@pytest.fixture
def place(tmp_path: Path) -> RuntimePlace:
    return RuntimePlace(tmp_path / "quadgen" / "probe")


def run(program: Path, *arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "/nonexistent", "PYTHONHOME": "/nonexistent", **env}
    return subprocess.run(
        [program, *arguments], cwd="/", env=clean, capture_output=True, check=False, text=True
    )


def versions(place: RuntimePlace) -> list[str]:
    return sorted(path.name for path in place.folder.iterdir() if not path.is_symlink())


def state(place: RuntimePlace) -> dict[str, int]:
    return {str(path): path.lstat().st_ctime_ns for path in sorted(place.folder.rglob("*"))}


def test_it_runs_without_quadgen_and_its_environment(place: RuntimePlace, tmp_path: Path) -> None:
    place.install(own_runtime(), Disk())
    file = tmp_path / "a.probe"
    probe = ProbeFile(service="a", unit="a.service", container="a", server=Server(url="http://127.0.0.1:1"))
    file.write_text("# a comment\n" + probe.to_json())
    done = run(place.folder / "current" / "quadgen-probe", "once", file, XDG_RUNTIME_DIR=str(tmp_path))
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert "refused" in told["evidence"]
    # Byte code was there already, and nothing was written beside it.
    compiled = [path for path in place.folder.rglob("*.pyc") if "current" not in path.parts]
    assert {path.name.split(".")[1] for path in compiled} == {sys.implementation.cache_tag}


def test_it_holds_the_probe_and_nothing_else_of_quadgen() -> None:
    files = own_runtime().files
    tops = {Path(path).parts[:2] for path in files}
    assert ("quadgen", "probe") in tops
    assert ("sdnotify", "__init__.py") in tops
    assert not {("quadgen", "cli"), ("quadgen", "spec"), ("quadgen", "quadlet")} & tops
    assert base_python() in files["quadgen-probe"].decode()


def test_the_interpreter_is_not_that_of_a_virtual_environment() -> None:
    assert not (Path(base_python()).parent.parent / "pyvenv.cfg").exists()


def test_another_python_steps_in_when_that_of_the_installation_is_gone(
    place: RuntimePlace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "_base_executable", "/nonexistent/with a blank/python3", raising=False)
    place.install(own_runtime(), Disk())
    (tmp_path / "python3").symlink_to(Path(sys.executable).resolve())
    done = run(place.folder / "current" / "quadgen-probe", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert done.returncode == 2
    assert "usage" in done.stderr


def test_installing_it_twice_changes_nothing(place: RuntimePlace) -> None:
    place.install(SMALL, Disk())
    before = state(place)
    assert place.is_whole(SMALL)
    assert not place.is_whole(NEXT)
    assert state(place) == before


def test_an_upgrade_changes_the_link_and_keeps_what_may_run(place: RuntimePlace) -> None:
    for number in range(8):
        place.install(
            Runtime({**SMALL.files, "start.py": f"print({number})\n".encode()}, "cpython-1"), Disk()
        )
    place.install(NEXT, Disk())
    assert place.current() == NEXT.version
    assert (place.folder / "current" / "start.py").read_bytes() == b"print(2)\n"
    assert NEXT.version in versions(place)
    assert len(versions(place)) == 4


@pytest.mark.parametrize("harm", ["cut", "gone"])
def test_a_damaged_version_is_not_whole_and_is_mended(place: RuntimePlace, harm: str) -> None:
    place.install(SMALL, Disk())
    file = place.folder / "current" / "start.py"
    file.write_text("") if harm == "cut" else file.unlink()
    assert not place.is_whole(SMALL)
    place.install(SMALL, Disk())
    assert place.is_whole(SMALL)


def crashes() -> Iterator[tuple[int, str]]:
    yield from ((at, where) for at in range(30) for where in ("before", "inside", "after"))


@pytest.mark.parametrize(("at", "where"), list(crashes()))
def test_a_crash_leaves_the_old_version_in_force_or_the_new_one(
    place: RuntimePlace, at: int, where: str
) -> None:
    place.install(SMALL, Disk())
    in_child(lambda: place.install(NEXT, dying(Disk, at, where)))
    (in_force,) = {runtime for runtime in (SMALL.version, NEXT.version) if place.current() == runtime}
    assert place.is_whole(SMALL if in_force == SMALL.version else NEXT)
    place.install(NEXT, Disk())
    assert place.is_whole(NEXT)
    assert versions(place) == sorted([SMALL.version, NEXT.version])


def test_removing_it_leaves_nothing_but_what_others_put_there(place: RuntimePlace) -> None:
    place.install(SMALL, Disk())
    (place.folder.parent / "environment").mkdir()
    place.remove(Disk())
    assert [path.name for path in place.folder.parent.iterdir()] == ["environment"]
    (place.folder.parent / "environment").rmdir()
    place.install(SMALL, Disk())
    place.remove(Disk())
    assert not place.folder.parent.exists()


def test_a_version_of_another_quadgen_is_told_of(tmp_path: Path) -> None:
    place = RuntimePlace(tmp_path / "quadgen" / "probe")
    assert list(outdated(tmp_path)) == []
    place.install(SMALL, Disk())
    (finding,) = outdated(tmp_path)
    assert (finding.severity, finding.code) == ("warning", "other-runtime")
    place.install(own_runtime(), Disk())
    assert list(outdated(tmp_path)) == []
