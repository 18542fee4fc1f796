"""What units run, installed with them: the probe, whole, in the user's data folder.

    $XDG_DATA_HOME/quadgen/probe/
        3f9c0a…/        one version, named after its content: quadgen/, sdnotify/, the program
        current         a link to the version in force, which units name

So a start needs no quadgen: its environment may move, be upgraded or go. A version is built beside the
others and renamed into place when it is whole; the link is exchanged in one step. What runs on an older
version keeps it: the last few stay.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import py_compile
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from quadgen.findings import Finding
from quadgen.quadlet.gate import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.deploy.disk import Disk

_NAME = Path(PROGRAM).name
_CURRENT = "current"
_START = "start.py"
_BUILDING = ".building"
_EXECUTABLE = 0o755
# The version in force, and as many before it.
_KEPT = 4
# The part of quadgen that the probe consists of; its doubles are for tests.
_PARTS = ("__init__.py", "errors.py", "probe")
_LEFT_OUT = frozenset({"doubles.py"})

# The Python that quadgen itself was started with comes first. After an upgrade of the system it may be gone.
_LAUNCHER = """\
#!/bin/sh
# Starts the probe: gate and watch of services that quadgen installed.
for python in {python} python3 python3.14 python3.13 python3.12 python3.11; do
    if command -v "$python" >/dev/null; then
        exec "$python" -I -S "${{0%/*}}/{start}" "$@"
    fi
done
echo "quadgen: no Python 3 was found" >&2
exit 127
"""
# The link may be exchanged while this runs, so the version is settled at the start.
_STARTER = """\
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True

from quadgen.probe.main import main

status = main()
sys.stdout.flush()
sys.stderr.flush()
# systemd waits for this process: taking the interpreter apart costs more than all that it did at the end.
os._exit(status)
"""


@dataclass(frozen=True, slots=True)
class Runtime:
    """One version of what units run.

    Args:
        files: Content by path within the version's folder.
        python: What its byte code is for, such as `cpython-313`.
    """

    files: dict[str, bytes]
    python: str

    @property
    def version(self) -> str:
        """Its name: a hash of all that it holds."""
        digest = hashlib.sha256(self.python.encode())
        for path, data in sorted(self.files.items()):
            digest.update(f"\0{path}\0{len(data)}\0".encode() + data)
        return digest.hexdigest()[:16]


def own_runtime() -> Runtime:
    """The version that this quadgen would install."""
    package = Path(__file__).resolve().parents[1]
    files = dict(_sources(package, "quadgen", _PARTS))
    spec = importlib.util.find_spec("sdnotify")
    if spec is None or spec.origin is None:  # pragma: no cover - it is a requirement of the package
        raise ModuleNotFoundError("sdnotify")
    files |= dict(_sources(Path(spec.origin).parent, "sdnotify", (".",)))
    files[_NAME] = _LAUNCHER.format(python=shlex.quote(base_python()), start=_START).encode()
    files[_START] = _STARTER.encode()
    return Runtime(files, sys.implementation.cache_tag or "python")


def base_python() -> str:
    """The interpreter below quadgen's own virtual environment, which stays when that goes."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _sources(folder: Path, name: str, parts: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    for part in parts:
        top = folder / part
        for path in sorted(top.rglob("*.py")) if top.is_dir() else (top,):
            if path.name not in _LEFT_OUT:
                yield str(Path(name) / path.relative_to(folder)), path.read_bytes()


@dataclass(frozen=True, slots=True)
class RuntimePlace:
    """Where the versions lie.

    Args:
        folder: `$XDG_DATA_HOME/quadgen/probe`.
    """

    folder: Path

    @classmethod
    def of(cls, data_folder: Path) -> Self:
        """The place in the user's data folder."""
        return cls(data_folder / "quadgen" / "probe")

    def current(self) -> str | None:
        """The version in force; None where none is installed."""
        try:
            return os.readlink(self.folder / _CURRENT)  # noqa: PTH115 - the text, not a path
        except OSError:
            return None

    def is_whole(self, runtime: Runtime) -> bool:
        """Whether a version is in force with every byte of it."""
        if self.current() != runtime.version:
            return False
        return self._has_all(runtime)

    def install(self, runtime: Runtime, disk: Disk) -> None:
        """Bring a version and put it in force; earlier ones stay while something may run on them.

        Raises:
            OSError: The disk refuses.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        target = self.folder / runtime.version
        if not self._has_all(runtime):
            work = self.folder / f"{_BUILDING}-{os.getpid()}"
            _build(runtime, work, disk)
            if target.exists():
                # Damaged: nothing that runs on it can be harmed by a whole one.
                disk.remove_tree(target)
            disk.rename(work, target)
        link = self.folder / f".{_CURRENT}-{os.getpid()}"
        link.unlink(missing_ok=True)
        link.symlink_to(runtime.version)
        disk.rename(link, self.folder / _CURRENT)
        disk.sync(self.folder)
        self._tidy(runtime.version, disk)

    def remove(self, disk: Disk) -> None:
        """Remove every version."""
        if self.folder.is_dir():
            disk.remove_tree(self.folder)
        # The folder above it may hold quadgen's own environment.
        with contextlib.suppress(OSError):
            self.folder.parent.rmdir()

    def _has_all(self, runtime: Runtime) -> bool:
        target = self.folder / runtime.version
        return all(_holds(target / path, data) for path, data in runtime.files.items())

    def _tidy(self, version: str, disk: Disk) -> None:
        versions = [path for path in self.folder.iterdir() if path.is_dir() and not path.is_symlink()]
        others = sorted(
            (path for path in versions if path.name != version), key=lambda path: -path.stat().st_mtime_ns
        )
        for path in others[_KEPT - 1 :] + [path for path in others if path.name.startswith(".")]:
            if path.is_dir():
                disk.remove_tree(path)


def outdated(data_folder: Path) -> Iterator[Finding]:
    """A finding where the installed version is not the one that this quadgen would install.

    Args:
        data_folder: The user's data folder.
    """
    place = RuntimePlace.of(data_folder)
    if place.current() is not None and not place.is_whole(own_runtime()):
        yield Finding(
            severity="warning",
            code="other-runtime",
            message=f"{place.folder / _CURRENT}, which the units run, is of another release of quadgen",
            remedy="run `quadgen install`; the units stay as they are, and nothing is restarted",
        )


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def _build(runtime: Runtime, work: Path, disk: Disk) -> None:
    if work.exists():
        disk.remove_tree(work)
    disk.make_folder(work)
    folders = {parent for path in runtime.files for parent in Path(path).parents if parent != Path()}
    for folder in sorted(folders, key=lambda one: len(one.parts)):
        disk.make_folder(work / folder)
    for path, data in runtime.files.items():
        disk.write(work / path, data, _EXECUTABLE if path == _NAME else 0o644)
    for path in runtime.files:
        if path.endswith(".py"):
            _compile(work, path, disk)
    for folder in (Path(), *folders):
        disk.sync(work / folder)


def _compile(work: Path, path: str, disk: Disk) -> None:
    """Write byte code that names its source without the folder in which it was built."""
    draft = py_compile.compile(
        str(work / path),
        cfile=str(work / f"{path}.draft"),
        dfile=path,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        doraise=True,
    )
    assert draft is not None  # noqa: S101 - doraise
    code = Path(draft).read_bytes()
    disk.remove(Path(draft))
    source = work / path
    # Not cache_from_source: that follows this process's own PYTHONPYCACHEPREFIX.
    target = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
    if not target.parent.is_dir():
        disk.make_folder(target.parent)
    disk.write(target, code)
