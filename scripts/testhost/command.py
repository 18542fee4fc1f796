"""Processes, the one kind of error, and builds that are either complete or absent."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


class TestHostError(Exception):
    """What went wrong and what to do about it, in a line or two."""

    # pytest would otherwise take the class for a test.
    __test__ = False


def say(text: str) -> None:
    """Tell progress on stderr; results alone go to stdout."""
    print(f"test-host: {text}", file=sys.stderr, flush=True)


def call(argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    """Run a command whose output goes to stderr; an exit status but 0 is a TestHostError."""
    full = None if env is None else {**os.environ, **env}
    with subprocess.Popen(argv, cwd=cwd, env=full, stdin=subprocess.DEVNULL, stdout=sys.stderr) as process:
        try:
            status = process.wait()
        except BaseException:
            # A bootstrap left alone would go on writing into a folder that the next one deletes.
            process.terminate()
            process.wait()
            raise
    if status:
        raise TestHostError(f"{argv[0]} failed with exit status {status}: {' '.join(argv[:6])}")


def ask(argv: Sequence[str], *, cwd: Path | None = None) -> str:
    """Return what a command prints, stripped; an exit status but 0 is a TestHostError with its last line."""
    done = subprocess.run(
        argv, check=False, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise TestHostError(f"{argv[0]} failed with exit status {done.returncode}: {last}")
    return done.stdout.strip()


def recipe_hash(*parts: object) -> str:
    """Name a recipe, so that a build made by another one is made again."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def is_built(target: Path, recipe: str) -> bool:
    """Tell whether a finished build by this very recipe lies at the target."""
    stamp = target.with_name(f"{target.name}.stamp")
    return target.exists() and stamp.is_file() and stamp.read_text() == recipe


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Keep a second process from building the same thing at the same time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def building(target: Path, recipe: str, *, in_place: bool = False) -> Iterator[Path]:
    """Give an empty folder to build in; only when the block ends well does it count as built.

    `in_place` is for what cannot be renamed afterwards, such as a virtual environment: there the missing
    stamp alone says that the build was cut off.
    """
    stamp = target.with_name(f"{target.name}.stamp")
    stamp.unlink(missing_ok=True)
    work = target if in_place else target.with_name(f".{target.name}.part")
    remove(work)
    work.mkdir(parents=True)
    yield work
    if not in_place:
        remove(target)
        work.rename(target)
    stamp.write_text(recipe)


def remove(path: Path) -> None:
    """Delete a file or a tree that may not be there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
