"""The probe file of the running start: what was installed meanwhile is for the next one.

An installation replaces the probe file while the service goes on with its old definition. A watch that read
the new one, with another port in it, would find nobody there and end a healthy server. So the checks before
a start keep a copy, and everything else of that start reads the copy.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quadgen.probe.probefile import ProbeFile

_FIRST, _LAST = "prestart", "poststop"


def of_this_start(
    command: str, path: Path, load: Callable[[Path], ProbeFile], environ: Mapping[str, str]
) -> ProbeFile:
    """The probe file that a command of a start has to go by.

    Args:
        command: Which command; the first of a start keeps the copy, and the last one removes it.
        path: The installed file.
        load: Reads one.
        environ: The environment that systemd gives.

    Raises:
        ProbeFileError: There is none that can be read.
    """
    copy = copy_of(path, environ)
    if command == _FIRST:
        file = load(path)
        _keep(path, copy)
        return file
    file = load(copy if copy.exists() else path)
    if command == _LAST:
        with contextlib.suppress(OSError):
            copy.unlink()
    return file


def copy_of(path: Path, environ: Mapping[str, str]) -> Path:
    """Where the copy of a probe file lies: in the runtime folder, which a reboot clears."""
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    return Path(runtime) / "quadgen" / "started" / path.name


def _keep(path: Path, copy: Path) -> None:
    # Without a runtime folder the installed file has to do.
    with contextlib.suppress(OSError):
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = copy.with_name(f".{copy.name}.{os.getpid()}")
        draft.write_bytes(path.read_bytes())
        draft.replace(copy)
