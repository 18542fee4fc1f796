"""Installing and uninstalling, from rendered unit files to what systemd says about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quadgen.deploy.apply import Applied, apply, pending, recover
from quadgen.deploy.compare import make_plan
from quadgen.deploy.disk import Disk
from quadgen.deploy.foundation import bring, compare, take_away
from quadgen.deploy.installed import scan
from quadgen.deploy.live import LiveUnit, live_units
from quadgen.deploy.lock import exclusive
from quadgen.deploy.place import place_for, quadlet_folders
from quadgen.deploy.services import PROBE_FILE
from quadgen.deploy.units import (
    forget_units,
    needs_restart,
    reload_manager,
    stop_units,
    verify,
)
from quadgen.errors import HostError
from quadgen.findings import Finding
from quadgen.host.generator import dry_run
from quadgen.host.paths import ROOT
from quadgen.host.services import volume_name
from quadgen.probe.state import ServiceState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from quadgen.deploy.foundation import Foundation, Wanted
    from quadgen.deploy.plan import Entry, Plan
    from quadgen.host.facts import Host
    from quadgen.host.run import Runner
    from quadgen.quadlet.assignment import UnitFile

_NOTHING = Applied((), "none")
# What runs a process; the others are helpers, and stopping one stops what needs it.
_WORKERS = (".container", ".pod", ".kube")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked for.

    Args:
        rendered: The unit files wanted, stamped; none to uninstall.
        spec: Whose files may be removed; None for every spec's.
        names: The only services to touch; None for all of the spec.
        overwrite: Replace and remove files that were edited by hand.
        take_over: Replace files that belong to another spec.
        dry_run: Change nothing.
        foundation: What units with a gate stand on; None to leave it, or to remove it with the last of them.
    """

    rendered: Sequence[UnitFile] = ()
    spec: str | None = None
    names: Collection[str] | None = None
    overwrite: bool = False
    take_over: bool = False
    dry_run: bool = False
    foundation: Wanted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it.

    Args:
        plan: What was to change.
        findings: Everything to tell; with an error among them nothing was changed, or it does not work.
        applied: What was changed.
        reloaded: The user manager has read the files.
        restart: Running services that were started from an older definition.
        states: What the user manager knows about the units, by name.
        foundation: What was changed, or would be, of what all units with a gate stand on.
    """

    plan: Plan
    findings: tuple[Finding, ...] = ()
    applied: Applied = _NOTHING
    reloaded: bool = False
    restart: tuple[str, ...] = ()
    states: dict[str, LiveUnit]
    foundation: tuple[Entry, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether an error is among the findings."""
        return any(finding.severity == "error" for finding in self.findings)


def install(request: Request, host: Host, runner: Runner, *, root: Path = ROOT) -> Outcome:
    """Make what is installed equal to what is rendered, or remove what is not rendered.

    Args:
        request: What is asked for.
        host: The machine.
        runner: Starts the generator, `systemctl` and `podman`.
        root: Top of the file system, for tests.

    Raises:
        DeployError: Files cannot be read or written, or another quadgen is at work.
        HostError: A removed service cannot be stopped.
    """
    work = _Work(request, host, runner, root)
    plan = work.plan()
    foundation = work.foundation(plan)
    if request.dry_run or plan.blocked:
        findings = (*plan.findings, *foundation.findings, *work.ask_generator(plan))
        changes = foundation.changes if request.dry_run else ()
        return Outcome(plan=plan, findings=findings, states=work.states(plan), foundation=changes)
    if not plan.changes and not foundation.changes and not pending(plan.place):
        outcome = work.tell(Outcome(plan=plan, findings=(*plan.findings, *foundation.findings), states={}))
        if not outcome.failed and not any(state.stale for state in outcome.states.values()):
            return outcome
        # An earlier run may have been killed before it got to the reload, so go on to that.
    with exclusive(plan.place) as lock:
        recover(plan.place, lock)
        # What the lock waited for, or a recovery, may have changed the files.
        plan = work.plan()
        foundation = work.foundation(plan)
        findings = (*plan.findings, *foundation.findings, *work.ask_generator(plan))
        outcome = Outcome(plan=plan, findings=findings, states={})
        if outcome.failed:
            return outcome
        work.stop_removed(plan)
        bring(foundation, request.foundation, host, Disk())
        outcome = replace(outcome, applied=apply(plan, lock), foundation=foundation.changes)
        take_away(foundation, host, Disk())
        return work.tell(outcome, reload=True)


@dataclass(frozen=True, slots=True)
class _Work:
    request: Request
    host: Host
    runner: Runner
    root: Path

    def plan(self) -> Plan:
        asked = self.request
        return make_plan(
            asked.rendered,
            scan(place_for(self.host), self.host, root=self.root),
            spec=asked.spec,
            names=asked.names,
            overwrite=asked.overwrite,
            take_over=asked.take_over,
        )

    def foundation(self, plan: Plan) -> Foundation:
        """What has to be done about runtime and watch."""
        return compare(plan, self.request.foundation, self.host, overwrite=self.request.overwrite)

    def ask_generator(self, plan: Plan) -> Iterator[Finding]:
        """What Quadlet says about the files that are new."""
        new = {entry.name: entry.new or "" for entry in plan.changes if entry.action != "remove"}
        if self.host.generator is None or not new:
            return
        folders = quadlet_folders(self.host, plan.place, root=self.root)
        done = dry_run(
            self.runner,
            self.host.generator,
            new,
            beside={e.name: e.old for e in plan.entries if e.old is not None and not e.changes},
            folders=[folder.path for folder in folders],
            leave_out={entry.path for entry in plan.entries},
            recursive=not plan.place.flat,
        )
        yield from done.findings({entry.name: entry.services for entry in plan.changes})

    def stop_removed(self, plan: Plan) -> None:
        """Stop what is about to lose its unit file: afterwards systemd could not do it properly."""
        if self.host.manager is None:
            return
        removed = [e for e in plan.changes if e.action == "remove" and e.service not in _services(plan.kept)]
        if self.request.rendered:
            # What still runs may need an old helper until its restart.
            removed = [entry for entry in removed if entry.name.endswith(_WORKERS)]
        stop_units(self.runner, sorted(filter(None, (entry.service for entry in removed))))

    def states(self, plan: Plan) -> dict[str, LiveUnit]:
        """What runs now, for a run that changes nothing."""
        if self.host.manager is None:
            return {}
        try:
            return live_units(self.runner, sorted(_services(plan.entries)))
        except HostError:
            return {}

    def tell(self, outcome: Outcome, *, reload: bool = False) -> Outcome:
        """Let the user manager know, and hear what it makes of it."""
        if self.host.manager is None:
            return outcome
        try:
            return self.look(self.reload(outcome) if reload else outcome)
        except HostError as error:
            return replace(outcome, findings=(*outcome.findings, _manager_failed(error)))

    def reload(self, outcome: Outcome) -> Outcome:
        """Let systemd forget what is removed and read what is new."""
        reload_manager(self.runner)
        removed = [entry for entry in outcome.applied.entries if entry.action == "remove"]
        gone = sorted(_services(removed) - _services(outcome.plan.kept))
        watched = sorted(entry.path.stem for entry in removed if entry.name.endswith(PROBE_FILE))
        forget_units(self.runner, [*gone, *(f"quadgen-watch@{name}.service" for name in watched)])
        for name in watched:
            ServiceState(self.host.state_home / "quadgen" / "probe", name).forget()
        notes = tuple(_volumes_left(self.runner, self.host, removed))
        return replace(outcome, reloaded=True, findings=(*outcome.findings, *notes))

    def look(self, outcome: Outcome) -> Outcome:
        """Compare what systemd knows with what is installed."""
        subject = [entry for entry in outcome.plan.kept if entry.service and self._is_asked_for(entry)]
        if not subject:
            return outcome
        files = {str(entry.service): entry.path for entry in subject}
        names = {str(entry.service): entry.services[0] for entry in subject if entry.services}
        states = live_units(self.runner, files)
        findings = verify(states, files, names=names)
        workers = {name: file for name, file in files.items() if file.suffix in _WORKERS}
        # A probe file is read at the start, like the unit itself.
        changed = _services(outcome.applied.entries) | {
            f"{entry.path.stem}.service"
            for entry in outcome.applied.entries
            if entry.name.endswith(PROBE_FILE)
        }
        old = needs_restart({name: states[name] for name in workers if name in states}, workers, changed)
        return replace(
            outcome, findings=(*outcome.findings, *findings), restart=tuple(sorted(old)), states=states
        )

    def _is_asked_for(self, entry: Entry) -> bool:
        if entry.name not in {file.name for file in self.request.rendered}:
            return False
        return self.request.names is None or not set(self.request.names).isdisjoint(entry.services)


def _manager_failed(error: HostError) -> Finding:
    return Finding(
        severity="error",
        code="manager-failed",
        message=f"the unit files are in place, but {error.message}",
        remedy=error.remedy,
    )


def _services(entries: Sequence[Entry]) -> set[str]:
    return {entry.service for entry in entries if entry.service}


def _volumes_left(runner: Runner, host: Host, removed: Sequence[Entry]) -> Iterator[Finding]:
    """A note for each Podman volume that outlives its unit: quadgen never deletes data."""
    volumes = sorted(filter(None, (volume_name(entry.name, entry.old or "") for entry in removed)))
    if not volumes or host.podman is None:
        return
    try:
        text = runner.run(["podman", "volume", "ls", "--format", "{{.Name}}"]).check().stdout
    except HostError:
        return
    for volume in volumes:
        if volume in text.split():
            yield Finding(
                severity="note",
                code="volume-kept",
                message=f"the volume {volume} keeps its data",
                remedy=f"podman volume rm {volume}",
            )
