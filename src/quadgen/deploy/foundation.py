"""What all services with a gate stand on: the installed runtime, and the one unit of their watches.

Both come before the units that name them and go after the last of those, so a crash in between leaves at
most something that nobody uses; the next run sees to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quadgen.deploy.apply import told
from quadgen.deploy.conflicts import entry_findings
from quadgen.deploy.plan import Entry
from quadgen.deploy.runtime import RuntimePlace
from quadgen.deploy.services import PROBE_FILE
from quadgen.quadlet.gate import WATCH_UNIT
from quadgen.quadlet.header import read

if TYPE_CHECKING:
    from pathlib import Path

    from quadgen.deploy.disk import Disk
    from quadgen.deploy.plan import Action, Plan
    from quadgen.deploy.runtime import Runtime
    from quadgen.findings import Finding
    from quadgen.host.facts import Host


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an installation brings along.

    Args:
        runtime: What units run.
        watch: Text of the watches' unit, stamped.
    """

    runtime: Runtime
    watch: str


@dataclass(frozen=True, slots=True)
class Foundation:
    """What has to be done about it.

    Args:
        runtime: The entry of the runtime.
        watch: The entry of the watches' unit.
    """

    runtime: Entry
    watch: Entry

    @property
    def changes(self) -> tuple[Entry, ...]:
        """The entries that change something on disk."""
        return tuple(entry for entry in (self.runtime, self.watch) if entry.changes)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What stands in the way, and what is left alone."""
        return tuple(entry_findings(self.watch))


def compare(plan: Plan, wanted: Wanted | None, host: Host, *, overwrite: bool = False) -> Foundation:
    """What is to be done so that the units of a plan can run.

    Args:
        plan: What is installed afterwards.
        wanted: What an installation brings along; None for one that only removes.
        host: The machine.
        overwrite: Replace and remove a unit that was edited by hand.
    """
    needed = any(entry.name.endswith(PROBE_FILE) for entry in plan.kept)
    place = RuntimePlace.of(host.data_folder)
    watch = host.config_home / "systemd" / "user" / WATCH_UNIT
    if not needed:
        runtime: Action = "remove" if place.folder.is_dir() else "unchanged"
        entry = _without(watch, overwrite=overwrite)
        return Foundation(Entry(action=runtime, path=place.folder), entry)
    if wanted is None:
        return Foundation(Entry(action="unchanged", path=place.folder), Entry(action="unchanged", path=watch))
    action: Action = "create" if place.current() is None else "update"
    if place.is_whole(wanted.runtime):
        action = "unchanged"
    path = place.folder / wanted.runtime.version
    return Foundation(Entry(action=action, path=path), _with(watch, wanted.watch, overwrite=overwrite))


def _with(path: Path, text: str, *, overwrite: bool) -> Entry:
    old = _read(path)
    entry = Entry(action="create", path=path, old=old, new=text)
    if old is None:
        return entry
    if old == text:
        return replace(entry, action="unchanged")
    header = read(old)
    if header is None:
        return replace(entry, action="conflict", reason="quadgen did not write it")
    return replace(entry, action="update" if header.intact or overwrite else "edited")


def _without(path: Path, *, overwrite: bool) -> Entry:
    old = _read(path)
    header = None if old is None else read(old)
    entry = Entry(action="unchanged", path=path, old=old)
    if header is None:
        # None there, or somebody else's.
        return entry
    if header.intact or overwrite:
        return replace(entry, action="remove")
    return replace(entry, action="edited", reason="no longer wanted")


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None


def bring(foundation: Foundation, wanted: Wanted | None, host: Host, disk: Disk) -> None:
    """Install what is new, before the units that name it.

    Raises:
        DeployError: The disk refuses.
    """
    with told():
        if wanted is not None and foundation.runtime.action in {"create", "update"}:
            RuntimePlace.of(host.data_folder).install(wanted.runtime, disk)
        if foundation.watch.action in {"create", "update"}:
            _write(foundation.watch, disk)


def take_away(foundation: Foundation, host: Host, disk: Disk) -> None:
    """Remove what no unit names any more.

    Raises:
        DeployError: The disk refuses.
    """
    with told():
        if foundation.watch.action == "remove":
            disk.remove(foundation.watch.path)
        if foundation.runtime.action == "remove":
            RuntimePlace.of(host.data_folder).remove(disk)


def _write(entry: Entry, disk: Disk) -> None:
    entry.path.parent.mkdir(parents=True, exist_ok=True)
    draft = entry.path.with_name(f".{entry.name}.quadgen")
    draft.unlink(missing_ok=True)
    disk.write(draft, (entry.new or "").encode())
    disk.rename(draft, entry.path)
    disk.sync(entry.path.parent)
