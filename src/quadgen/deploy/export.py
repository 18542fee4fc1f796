"""Writing files outside the Quadlet folder, each whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from quadgen.errors import DeployError, UsageError
from quadgen.quadlet import header

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quadgen.quadlet.assignment import UnitFile


def export(files: Iterable[UnitFile], folder: Path) -> None:
    """Write unit files to a folder, over earlier ones of quadgen's but over nobody else's.

    Raises:
        UsageError: A file of that name is not quadgen's, or was edited.
        DeployError: The folder can't be written.
    """
    files = tuple(files)
    for file in files:
        _refuse_foreign(folder / file.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            _replace(folder / file.name, file.text)
    except OSError as error:
        raise DeployError(
            f"{error.filename}: {error.strerror}", "choose a folder that you can write to"
        ) from None


def write_new(path: Path, text: str) -> bool:
    """Write a file that is not there yet; False when it is.

    Raises:
        DeployError: It can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    except OSError as error:
        raise DeployError(f"{path}: {error.strerror}", "name another file with --file") from None
    return True


def _refuse_foreign(path: Path) -> None:
    if not path.exists():
        return
    found = header.read(path.read_text(encoding="utf-8", errors="surrogateescape"))
    if found is None or not found.intact:
        whose = "was not written by quadgen" if found is None else "was edited since quadgen wrote it"
        raise UsageError(f"{path} {whose}", "move it away, or choose another folder")


def _replace(path: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).chmod(0o644)
    Path(name).replace(path)
