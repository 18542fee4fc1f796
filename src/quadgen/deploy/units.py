"""What the user manager makes of the unit files: reload, judge, stop.

`daemon-reload` succeeds even when the generator failed, so the manager is asked afterwards what it knows.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from quadgen.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from quadgen.deploy.live import LiveUnit
    from quadgen.host.run import Runner

_RELOAD_TIMEOUT = 120.0
# A stop lasts as long as the unit's TimeoutStopSec at most; several are stopped at once.
_STOP_TIMEOUT = 900.0
# systemctl(1): the status for a unit that is not loaded; the others were stopped all the same.
_NOT_LOADED = 5


def reload_manager(runner: Runner) -> None:
    """Let the user manager read its units again.

    Raises:
        HostError: It cannot be reached, or fails.
    """
    runner.run(["systemctl", "--user", "daemon-reload"], timeout=_RELOAD_TIMEOUT).check(
        "see `journalctl --user -b -p warning` for the reason"
    )


def verify(
    states: Mapping[str, LiveUnit], expected: Mapping[str, Path], *, names: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """A finding for each unit that is not what was installed.

    Args:
        states: From `live_units`, after a reload.
        expected: Unit name to the Quadlet file that it is to be made from.
        names: Unit name to the spec's service, for the findings' place.
    """
    for name, file in expected.items():
        state = states.get(name)
        if state is not None:
            service = (names or {}).get(name)
            yield from _verify(state, file, ("service", service) if service else ())


def needs_restart(
    states: Mapping[str, LiveUnit], files: Mapping[str, Path], changed: Iterable[str] = ()
) -> list[str]:
    """The running units that were started from an older definition.

    Args:
        states: From `live_units`.
        files: Unit name to its Quadlet file.
        changed: Units whose file has just been replaced.
    """
    now_changed = set(changed)
    return [
        name
        for name, state in states.items()
        if state.running and (name in now_changed or _is_older(state, files.get(name)))
    ]


def stop_units(runner: Runner, names: Sequence[str]) -> None:
    """Stop units and wait for it; units that do not run are no error.

    Raises:
        HostError: One of them cannot be stopped.
    """
    if names:
        done = runner.run(["systemctl", "--user", "stop", "--", *names], timeout=_STOP_TIMEOUT)
        # A unit whose file was installed without the manager is one that it does not know.
        if done.status != _NOT_LOADED:
            done.check(f"stop it by hand: systemctl --user stop {names[0]}")


def forget_units(runner: Runner, names: Sequence[str]) -> None:
    """Let the manager drop what it remembers of removed units, such as that they failed."""
    for name in names:
        # systemd fails for a unit that it does not remember, which is what is wanted.
        runner.run(["systemctl", "--user", "reset-failed", "--", name])


def _is_older(state: LiveUnit, file: Path | None) -> bool:
    if file is None or state.began is None:
        return False
    try:
        written = file.stat().st_mtime
    except OSError:
        return False
    # systemd tells whole seconds here; within the same one nothing can be said.
    return written >= state.began + 1


def _verify(state: LiveUnit, file: Path, path: tuple[str, ...]) -> Iterator[Finding]:
    if state.load == "masked":
        yield _error(
            "masked-unit",
            f"{state.name} is masked, so it cannot start",
            f"systemctl --user unmask {state.name}",
            path,
        )
    elif state.load == "not-found":
        yield _error(
            "unit-not-found",
            f"{state.name} was not made from {file}",
            "see the generator's message in `journalctl --user -b -t quadlet-generator`",
            path,
        )
    elif state.load != "loaded":
        yield _error(
            "bad-unit",
            f"systemd refuses {state.name}: {state.load}",
            f"systemd-analyze --user --generators=true verify {state.name}",
            path,
        )
    elif not _same(state.source, file):
        other = state.source or state.fragment
        yield _error(
            "hidden-unit",
            f"{state.name} comes from {other}, which hides {file}",
            "move that file away, or rename the service",
            path,
        )
    elif state.stale:
        yield Finding(
            severity="warning",
            code="stale-unit",
            message=f"systemd has not read the present files of {state.name}",
            remedy="systemctl --user daemon-reload",
            path=path,
        )


def _error(code: str, message: str, remedy: str, path: tuple[str, ...]) -> Finding:
    return Finding(severity="error", code=code, message=message, remedy=remedy, path=path)


def _same(one: Path | None, other: Path) -> bool:
    return one is not None and os.path.realpath(one) == os.path.realpath(other)
