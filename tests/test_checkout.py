"""scripts/quadgen in a fresh clone, as a newcomer runs it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of this checkout, without what is built here."""
    folder = tmp_path_factory.mktemp("clone") / "with a blank"
    listed = subprocess.run(
        ["git", "-C", CHECKOUT, "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        check=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (CHECKOUT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, folder / name)
    return folder


def run(
    clone: Path, home: Path, *arguments: str, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    env = {
        "HOME": str(home),
        "PATH": path or f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
    }
    script = str(clone / "scripts" / "quadgen")
    return subprocess.run(
        [script, *arguments], env=env, cwd=home, capture_output=True, check=False, text=True
    )


def test_it_sets_itself_up_once_and_again_after_a_change(clone: Path, own_home: Path) -> None:
    first = run(clone, own_home, "install", "--json")
    assert first.returncode == 0, first.stderr
    assert "setting up" in first.stderr
    assert "setting up" not in run(clone, own_home, "--version").stderr

    module = clone / "src" / "quadgen" / "__init__.py"
    module.write_text(module.read_text().replace('__version__ = "', '__version__ = "9.'))
    changed = run(clone, own_home, "--version")
    assert "setting up" in changed.stderr
    assert changed.stdout.startswith("quadgen 9.")
    # The same version with other code is another quadgen, too.
    texts = clone / "src" / "quadgen" / "cli" / "main.py"
    texts.write_text(texts.read_text().replace("Write a first spec to start from.", "Changed."))
    assert "Changed." in run(clone, own_home, "--help").stdout

    installed = own_home / ".local" / "share" / "quadgen" / "environment" / "bin" / "quadgen"
    alone = subprocess.run(
        [installed, "--version"],
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert alone.stdout == changed.stdout


@pytest.mark.parametrize(
    ("lacks", "words"),
    [("ensurepip", "apt install python3-venv"), ("version_info", "Python 3.11 or newer is missing")],
)
def test_it_says_what_to_install(clone: Path, own_home: Path, lacks: str, words: str) -> None:
    programs = own_home / "bin"
    programs.mkdir()
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        program = programs / name
        program.write_text(f'#!/bin/sh\ncase "$*" in *{lacks}*) exit 1 ;; esac\nexec {sys.executable} "$@"\n')
        program.chmod(0o755)
    done = run(clone, own_home, "--version", path=f"{programs}:/usr/bin:/bin")
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
