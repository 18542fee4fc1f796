"""Processes: the one place of the probe that starts any, and the container's main process.

`podman kill -s KILL` ends a container so that conmon exits as usual: the restart delay and the start limit
stay in force, and nothing is left behind. `systemctl kill` would take conmon along and leave a stale
container (measured).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MISSING, _TOO_LONG = 127, 124


class Completed(NamedTuple):
    """A program that has ended; 127 means that it is not installed, 124 that it took too long."""

    status: int
    stdout: str = ""
    stderr: str = ""

    @property
    def missing(self) -> bool:
        """Whether the program is not installed."""
        return self.status == _MISSING and not self.stdout


class Runner(Protocol):
    """Runs programs to their end."""

    def start(self, argv: Sequence[str], *, timeout: float) -> Callable[[], Completed]:
        """Start `argv`; what it gives waits for its end, for at most `timeout` seconds. Neither raises."""
        ...

    def run(self, argv: Sequence[str], *, timeout: float) -> Completed:
        """Run `argv` for at most `timeout` seconds; never raises."""
        ...


class SystemRunner:
    """Runs programs of the machine."""

    def start(self, argv: Sequence[str], *, timeout: float) -> Callable[[], Completed]:
        """Start `argv`; what it gives waits for its end, for at most `timeout` seconds. Neither raises."""
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
        except FileNotFoundError:
            failed = Completed(status=_MISSING, stderr=f"{argv[0]}: not installed")
        except OSError as error:
            failed = Completed(status=126, stderr=f"{argv[0]}: {error.strerror}")
        else:
            return lambda: _ended(process, argv[0], timeout)
        return lambda: failed

    def run(self, argv: Sequence[str], *, timeout: float) -> Completed:
        """Run `argv` for at most `timeout` seconds; never raises."""
        return self.start(argv, timeout=timeout)()


def _ended(process: subprocess.Popen[bytes], program: str, timeout: float) -> Completed:
    with process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            return Completed(status=_TOO_LONG, stderr=f"{program}: no end within {timeout:g} s")
    return Completed(
        status=process.returncode,
        stdout=out.decode("utf-8", "replace"),
        stderr=err.decode("utf-8", "replace"),
    )


class UnitState(NamedTuple):
    """What systemd says of a unit; empty texts where it says nothing.

    Args:
        active: ActiveState.
        sub: SubState.
        invocation: InvocationID of the present or last run.
        main_pid: MainPID, 0 for none.
        restarts: NRestarts.
        result: Result of the last run.
    """

    active: str = ""
    sub: str = ""
    invocation: str = ""
    main_pid: int = 0
    restarts: int = 0
    result: str = ""

    @property
    def known(self) -> bool:
        """Whether systemd answered at all."""
        return bool(self.active)


_PROPERTIES = "ActiveState,SubState,InvocationID,MainPID,NRestarts,Result"


class Systemd:
    """The user's service manager, asked through systemctl."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def state(self, unit: str) -> UnitState:
        """What systemd says of a unit, in about 10 ms."""
        done = self._runner.run(
            ["systemctl", "--user", "show", "--property", _PROPERTIES, "--", unit], timeout=10
        )
        if done.status != 0:
            return UnitState()
        rows = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
        return UnitState(
            active=rows.get("ActiveState", ""),
            sub=rows.get("SubState", ""),
            invocation=rows.get("InvocationID", ""),
            main_pid=_whole(rows.get("MainPID")),
            restarts=_whole(rows.get("NRestarts")),
            result=rows.get("Result", ""),
        )

    def job(self, unit: str) -> str | None:
        """The job under way for a unit: `start`, `stop`, `restart`; empty for none, None if not known.

        A service that ends by itself has none, which tells a crash from a stop.
        """
        done = self._runner.run(["systemctl", "--user", "list-jobs", "--no-legend", "--", unit], timeout=10)
        if done.status != 0:
            return None
        words = done.stdout.split()
        return words[2] if len(words) > 2 else ""

    def end_for_good(self, unit: str) -> None:
        """Stop a unit from inside its own start: it ends as failed, and no restart follows (measured)."""
        self._runner.run(["systemctl", "--user", "stop", "--no-block", "--", unit], timeout=10)


class Container:
    """A running container, to be ended.

    Args:
        name: Its name.
        runner: What runs Podman.
        main_pid: Pid of conmon, 0 where it is not known.
    """

    def __init__(self, name: str, runner: Runner, main_pid: int = 0) -> None:
        self._name = name
        self._runner = runner
        self.main_pid = main_pid

    def kill(self) -> str:
        """End it at once; the answer says how, for the journal.

        vLLM loses SIGTERM while it loads, so only SIGKILL is sure. Where Podman itself hangs, the signal
        goes straight to the container's first process, whose parent is conmon: conmon then ends as usual.
        """
        done = self._runner.run(["podman", "kill", "--signal", "KILL", self._name], timeout=10)
        if done.status == 0:
            return "ended by podman kill"
        for pid in children(self.main_pid):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        why = (done.stderr.strip().splitlines() or [f"status {done.status}"])[-1]
        return f"podman kill failed ({why}); its processes were sent SIGKILL directly"


def children(pid: int) -> list[int]:
    """The direct children of a process; none where the kernel does not tell."""
    found: list[int] = []
    if pid > 0:
        for path in _listed(Path(f"/proc/{pid}/task")):
            with contextlib.suppress(OSError, ValueError):
                found += [int(word) for word in (path / "children").read_text().split()]
    return found


def tree(pid: int) -> Iterator[int]:
    """All descendants of a process, parents first."""
    for child in children(pid):
        yield child
        yield from tree(child)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _whole(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0
