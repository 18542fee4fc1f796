"""The journal of one start: followed while it loads, and read back when it failed.

Facts, measured: entries of a container carry `_SYSTEMD_INVOCATION_ID`; lines that begin with a carriage
return, as progress bars do, come as arrays of integers in JSON; with a volatile journal a user may not be
able to read them at all. Without `--user` journalctl opens every file that the user may read, which is more
than `--user` does on such a host.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import threading
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from quadgen.probe.process import Runner

# What the probe itself prints into the same journal begins so, and is none of the container's words.
MARK = "quadgen "

_FIELDS = "MESSAGE,_PID,SYSLOG_IDENTIFIER"
# --all: without it a long message comes as null.
_COMMAND = ("journalctl", "--quiet", "--all", "--output=json", f"--output-fields={_FIELDS}")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# A container that writes no newline for ever must not fill the memory.
_LONGEST = 1 << 20


class Line(NamedTuple):
    """One line of a log.

    Args:
        text: Without colours, and of a line drawn over and over only the last drawing.
        identifier: SYSLOG_IDENTIFIER.
    """

    text: str
    identifier: str = ""


class Journal(Protocol):
    """The log of one start, as it grows."""

    def fileno(self) -> int | None:
        """What becomes readable when there is more; None when nothing more can come."""
        ...

    def read(self) -> list[Line]:
        """What has come since the last call; never waits."""
        ...

    def close(self) -> None:
        """Stop following."""
        ...


class JournalFollower:
    """Follows the entries of one invocation, from its first, through a journalctl of its own.

    Args:
        invocation: The unit's INVOCATION_ID.
        identifiers: Take only lines of these syslog identifiers; empty takes all.
    """

    def __init__(self, invocation: str, identifiers: Sequence[str] = ()) -> None:
        self._identifiers = identifiers
        self._rest = b""
        self._process: subprocess.Popen[bytes] | None = None
        if invocation:
            with contextlib.suppress(OSError):
                self._process = _follow(invocation)

    def fileno(self) -> int | None:
        """What becomes readable when there is more."""
        return _pipe(self._process).fileno() if self._process else None

    def read(self) -> list[Line]:
        """What has come since the last call; never waits."""
        if self._process is None:
            return []
        pipe = _pipe(self._process)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(pipe.fileno(), 1 << 16):
                self._rest += data
                if len(self._rest) > _LONGEST:
                    break
            else:
                # journalctl ended: not installed right, or no file that this user may read.
                self.close()
        *whole, self._rest = self._rest.split(b"\n")
        if len(self._rest) > _LONGEST:
            self._rest = b""
        return list(lines(whole, self._identifiers))

    def close(self) -> None:
        """Stop following."""
        if self._process is not None:
            self._process.kill()
            _pipe(self._process).close()
            # The kernel takes 20 ms to unmap its journal files, and a start that failed waits for nothing.
            threading.Thread(target=self._process.wait, daemon=True).start()
            self._process = None


def _follow(invocation: str) -> subprocess.Popen[bytes]:
    argv = [*_COMMAND, "--follow", "--no-tail", f"_SYSTEMD_INVOCATION_ID={invocation}"]
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    os.set_blocking(_pipe(process).fileno(), False)
    return process


def _pipe(process: subprocess.Popen[bytes]) -> IO[bytes]:
    if process.stdout is None:  # pragma: no cover - it is always a pipe
        raise OSError("journalctl has no pipe")
    return process.stdout


def tail(
    runner: Runner, invocation: str, count: int, identifiers: Sequence[str] = ()
) -> Callable[[], list[Line]]:
    """Begin to read the last `count` lines of an invocation; what it gives waits for them.

    There are none where the user cannot read the journal.
    """
    if not invocation:
        return list
    match = f"_SYSTEMD_INVOCATION_ID={invocation}"
    return _read(runner, [f"--lines={count}", match], identifiers)


def kernel_tail(runner: Runner, seconds: float) -> Callable[[], list[Line]]:
    """Begin to read what the kernel said lately: Xid errors, processes killed; often not readable."""
    return _read(runner, ["--dmesg", "--lines=100", f"--since=-{int(seconds)}s"], ())


def _read(runner: Runner, words: Sequence[str], identifiers: Sequence[str]) -> Callable[[], list[Line]]:
    ended = runner.start([*_COMMAND, *words], timeout=10)
    return lambda: list(lines(ended().stdout.encode().split(b"\n"), identifiers))


def lines(entries: Iterable[bytes], identifiers: Sequence[str]) -> Iterable[Line]:
    """Turn journal entries, one JSON object each, into lines of text."""
    for raw in entries:
        entry = _entry(raw)
        identifier = str(entry.get("SYSLOG_IDENTIFIER", ""))
        if identifiers and identifier not in identifiers:
            continue
        for text in _texts(entry.get("MESSAGE")):
            if not text.startswith(MARK):
                yield Line(text=text, identifier=identifier)


def _entry(raw: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(raw) if raw.strip() else {}
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _texts(message: object) -> Iterable[str]:
    if isinstance(message, list):
        message = _of_integers(message)
    if not isinstance(message, str):
        return
    for line in message.split("\n"):
        drawn = [part for part in _ANSI.sub("", line).split("\r") if part.strip()]
        if drawn:
            yield drawn[-1].rstrip()


def _of_integers(message: list[Any]) -> str:
    # A field that an entry has more than once is a list of its values instead.
    if message and not all(isinstance(item, int) for item in message):
        return _of_integers(message[0]) if isinstance(message[0], list) else str(message[0])
    with contextlib.suppress(ValueError):
        return bytes(message).decode("utf-8", "replace")
    return ""
