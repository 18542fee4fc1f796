"""One lock for each GPU while a model loads onto it, so that two never load onto one card at once.

A process cannot hold the lock: systemd ends whatever an `ExecStartPre=` leaves behind before the container
starts, and a descriptor kept by systemd would be passed on into the container. So a lock is a file that
names a unit and its invocation, and it holds exactly as long as systemd says that this very invocation is
being started or stopped. Whatever crashes, gate or watch or container, systemd knows; when the gate closes,
the unit is active and the lock has lapsed by itself. Files are read and written under one flock, so taking
several GPUs is one step and cannot deadlock.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from quadgen.probe.process import Runner, Systemd

# A unit that waits for its next attempt is activating too, but nothing of it runs.
_WAITING = ("auto-restart", "auto-restart-queued")


class Holder(NamedTuple):
    """Who holds a GPU.

    Args:
        unit: The unit that loads onto it.
        invocation: Its INVOCATION_ID.
        since: When it took the lock, in seconds since 1970.
    """

    unit: str
    invocation: str
    since: float


class GpuLocks:
    """The locks of this user's GPUs.

    Args:
        folder: Where they lie; the runtime folder, so that a reboot clears them.
        systemd: Who knows whether a holder still loads.
    """

    def __init__(self, folder: Path, systemd: Systemd) -> None:
        self._folder = folder
        self._systemd = systemd

    def take(self, gpus: Iterable[str], me: Holder) -> tuple[str, Holder] | None:
        """Take all of the GPUs or none.

        Returns:
            None where all were taken; else one that is held, and by whom.
        """
        wanted = list(dict.fromkeys(gpus))
        with self._alone():
            for held, holder in self._held():
                if holder.unit == me.unit or not any(overlap(held, gpu) for gpu in wanted):
                    continue
                if self._loads(holder):
                    return held, holder
                self._path(held).unlink(missing_ok=True)
            for gpu in wanted:
                self._write(gpu, me)
        return None

    def drop(self, unit: str) -> None:
        """Remove what a unit holds. For tidiness alone: it has lapsed by itself."""
        with self._alone():
            for gpu, holder in self._held():
                if holder.unit == unit:
                    self._path(gpu).unlink(missing_ok=True)

    def _loads(self, holder: Holder) -> bool:
        state = self._systemd.state(holder.unit)
        if not state.known:
            # Without systemd's word it may well be loading.
            return True
        return (
            state.invocation == holder.invocation
            and state.active in {"activating", "deactivating", "reloading"}
            and state.sub not in _WAITING
        )

    def _held(self) -> list[tuple[str, Holder]]:
        found = []
        for path in sorted(self._folder.glob("*.lock")):
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                table = json.loads(path.read_text(encoding="utf-8"))
                found.append((str(table.pop("gpu")), Holder(**table)))
        return found

    def _write(self, gpu: str, me: Holder) -> None:
        path = self._path(gpu)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps({"gpu": gpu} | me._asdict()), encoding="utf-8")
        draft.replace(path)

    def _path(self, gpu: str) -> Path:
        return self._folder / (re.sub(r"[^\w.-]", "_", gpu) + ".lock")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        guard = os.open(self._folder / "guard", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            yield
        finally:
            os.close(guard)


def overlap(one: str, other: str) -> bool:
    """Whether two GPU ids may mean the same silicon: `all` is every card, `0` holds its slice `0:1`."""
    if "all" in (one, other) or one == other:
        return True
    first, _, slice_of_one = one.partition(":")
    second, _, slice_of_other = other.partition(":")
    return first == second and not (slice_of_one and slice_of_other)


def with_uuids(runner: Runner, gpus: Iterable[str]) -> list[str]:
    """The ids with an index replaced by the card's UUID, so that both names of a card are one lock.

    Without nvidia-smi the ids stay as they are.
    """
    done = runner.run(["nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader"], timeout=20)
    uuids = dict(re.findall(r"^\s*(\d+),\s*(\S+)", done.stdout, re.MULTILINE)) if done.status == 0 else {}
    return [_with_uuid(gpu, uuids) for gpu in gpus]


def _with_uuid(gpu: str, uuids: dict[str, str]) -> str:
    card, colon, part = gpu.partition(":")
    return uuids.get(card, card) + colon + part
