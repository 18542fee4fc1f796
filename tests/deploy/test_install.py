"""The whole way, with a machine in a temporary folder and programs that only answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quadgen.deploy.apply import apply
from quadgen.deploy.disk import Disk
from quadgen.deploy.install import Outcome, Request, install
from quadgen.deploy.lock import exclusive
from quadgen.errors import HostError, UsageError
from quadgen.host.facts import Manager
from quadgen.host.run import Completed, FakeRunner
from quadgen.host.services import generated_service

from .machine import SPEC, Box, unit
from .test_crash import dying, in_child

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quadgen.quadlet.assignment import UnitFile

GENERATOR = Path("/usr/libexec/podman/quadlet")
A = unit("a.container", "a", body="[Container]\nImage=docker.io/x/y:1\nVolume=cache.volume:/c\n")
B = unit("b.container", "b")
CACHE = unit("cache.volume", "a", "b", body="[Volume]\n")
NEW_A = unit("a.container", "a", body="[Container]\nImage=docker.io/x/y:2\n")


class Manager257(FakeRunner):
    """A user manager that knows what lies in the Quadlet folder since the last reload."""

    def __init__(self, box: Box, *, running: Sequence[str] = ()) -> None:
        super().__init__({"podman volume ls": "systemd-cache\n"})
        self.box = box
        self.running = list(running)
        self.known: dict[str, Path] = {}
        self.generator_says = ""

    def run(self, argv: Sequence[str], **options: Any) -> Completed:
        words = tuple(argv)
        if words[0] == "systemctl":
            self.calls.append(words)
            return Completed(words, stdout=self._systemctl(words))
        if words[0] == str(GENERATOR):
            self.calls.append(words)
            return self._generate(words, options["env"])
        return super().run(argv, **options)

    def _systemctl(self, words: tuple[str, ...]) -> str:
        if words[2] == "daemon-reload":
            files = sorted(self.box.place.base.rglob("*"), reverse=True)
            self.known = {
                service: file
                for file in files
                if file.is_file() and (service := generated_service(file.name, file.read_text()))
            }
        if words[2] == "stop":
            self.running = [name for name in self.running if name not in words]
        if words[2] == "show":
            return "\n".join(map(self._show, words[words.index("--") + 1 :]))
        return ""

    def _show(self, name: str) -> str:
        load = "loaded" if name in self.known else "not-found"
        active = "active" if name in self.running else "inactive"
        source = self.known.get(name, "")
        return (
            f"Id={name}\nLoadState={load}\nActiveState={active}\nSourcePath={source}\nNeedDaemonReload=no\n"
        )

    def _generate(self, words: tuple[str, ...], env: Mapping[str, str]) -> Completed:
        files = [file for folder in env["QUADLET_UNIT_DIRS"].split(":") for file in Path(folder).iterdir()]
        made = [generated_service(file.name, file.read_text()) for file in files if file.is_file()]
        failed = self.generator_says.partition('"')[2].partition('"')[0].replace(".container", ".service")
        text = "".join(f"---{service}---\n" for service in made if service != failed)
        return Completed(words, 1 if failed else 0, text, self.generator_says)

    def verbs(self) -> list[str]:
        return [call[2] if call[0] == "systemctl" else Path(call[0]).name for call in self.calls]


@pytest.fixture
def ready(box: Box) -> Box:
    box.host = replace(box.host, manager=Manager(systemd=257), generator=GENERATOR)
    return box


def go(box: Box, runner: FakeRunner, rendered: Sequence[UnitFile] = (), **options: Any) -> Outcome:
    options.setdefault("spec", SPEC)
    return install(Request(rendered=rendered, **options), box.host, runner, root=box.root)


def codes(outcome: Outcome) -> list[str]:
    return [finding.code for finding in outcome.findings]


def test_first_installation(ready: Box) -> None:
    runner = Manager257(ready)
    outcome = go(ready, runner, [A, CACHE])
    assert codes(outcome) == []
    assert [entry.name for entry in outcome.applied.entries] == ["a.container", "cache.volume"]
    assert outcome.reloaded
    assert outcome.restart == ()
    assert {name: state.load for name, state in outcome.states.items()} == {
        "a.service": "loaded",
        "cache-volume.service": "loaded",
    }
    assert runner.verbs() == ["quadlet", "daemon-reload", "show"]


def test_second_installation_changes_nothing(ready: Box) -> None:
    runner = Manager257(ready)
    go(ready, runner, [A, CACHE])
    before = {path: path.lstat().st_ctime_ns for path in ready.host.home.rglob("*")}
    runner.calls.clear()
    outcome = go(ready, runner, [A, CACHE])
    assert outcome.applied.entries == ()
    assert not outcome.reloaded
    assert runner.verbs() == ["show"]
    assert {path: path.lstat().st_ctime_ns for path in ready.host.home.rglob("*")} == before


def test_dry_run_changes_nothing_and_asks_the_generator(ready: Box) -> None:
    runner = Manager257(ready)
    runner.generator_says = "converting \"a.container\": unsupported key 'X' in group 'Container' in /x\n"
    outcome = go(ready, runner, [A, CACHE], dry_run=True)
    assert codes(outcome) == ["quadlet-error"]
    assert [entry.action for entry in outcome.plan.entries] == ["create", "create"]
    assert list(ready.host.home.iterdir()) == []
    assert runner.verbs() == ["quadlet", "show"]


def test_what_the_generator_refuses_is_not_installed(ready: Box) -> None:
    runner = Manager257(ready)
    go(ready, runner, [A, CACHE])
    runner.generator_says = "converting \"a.container\": unsupported key 'X' in group 'Container' in /x\n"
    outcome = go(ready, runner, [NEW_A, B, CACHE])
    assert outcome.failed
    assert codes(outcome) == ["quadlet-error"]
    assert outcome.applied.entries == ()
    assert ready.tree() == {"quadgen/a.container": A.text, "quadgen/cache.volume": CACHE.text}


def test_a_conflict_stops_everything(ready: Box) -> None:
    ready.put(".config/containers/systemd/a.container")
    runner = Manager257(ready)
    outcome = go(ready, runner, [A, B, CACHE])
    assert "hidden-unit" in codes(outcome)
    assert outcome.failed
    assert outcome.applied.entries == ()
    assert not ready.place.folder.exists()


def test_running_services_with_a_new_definition_want_a_restart(ready: Box) -> None:
    runner = Manager257(ready, running=["a.service", "b.service"])
    go(ready, runner, [A, B, CACHE])
    outcome = go(ready, runner, [NEW_A, B, CACHE])
    assert outcome.restart == ("a.service",)
    assert runner.running == ["a.service", "b.service"]


def test_without_a_manager_files_are_written_all_the_same(ready: Box) -> None:
    ready.host = replace(ready.host, manager=None, generator=None, podman=None)
    runner = FakeRunner()
    outcome = go(ready, runner, [A, CACHE])
    assert len(outcome.applied.entries) == 2
    assert not outcome.reloaded
    assert runner.calls == []
    assert ready.tree() == {"quadgen/a.container": A.text, "quadgen/cache.volume": CACHE.text}


def test_a_run_that_was_killed_before_the_reload_is_completed(ready: Box) -> None:
    with exclusive(ready.place) as lock:
        apply(ready.plan([A, CACHE]), lock)
    runner = Manager257(ready)
    outcome = go(ready, runner, [A, CACHE])
    assert codes(outcome) == []
    assert outcome.reloaded
    assert runner.verbs() == ["show", "daemon-reload", "show"]


@pytest.mark.parametrize("at", [6, 14, 16])
def test_a_run_that_was_killed_under_way_is_completed(ready: Box, at: int) -> None:
    ready.with_podman("4.6.1")
    assert in_child(lambda: ready.install([A, B, CACHE], dying(Disk, at, "after"))) == 9
    outcome = go(ready, Manager257(ready), [A, B, CACHE])
    assert codes(outcome) == []
    assert ready.tree() == {f.name: f.text for f in (A, B, CACHE)}


def test_a_manager_that_fails_does_not_hide_that_files_are_in_place(ready: Box) -> None:
    runner = FakeRunner(
        {"systemctl": Completed((), 1, "", "Failed to reload daemon: Timeout\n"), str(GENERATOR): ""}
    )
    ready.host = replace(ready.host, generator=None)
    outcome = go(ready, runner, [A, CACHE])
    assert codes(outcome) == ["manager-failed"]
    assert outcome.findings[0].message.startswith(
        "the unit files are in place, but systemctl daemon-reload failed"
    )
    assert len(outcome.applied.entries) == 2


class TestUninstall:
    def test_stops_first_and_names_the_volume_that_stays(self, ready: Box) -> None:
        runner = Manager257(ready, running=["a.service"])
        go(ready, runner, [A, CACHE], names=["a"])
        runner.calls.clear()
        outcome = go(ready, runner, names=["a"], spec=None)
        assert runner.running == []
        assert runner.verbs()[:2] == ["stop", "daemon-reload"]
        assert codes(outcome) == ["volume-kept"]
        assert outcome.findings[0].remedy == "podman volume rm systemd-cache"
        assert not ready.place.folder.exists()
        assert not any(call[:3] == ("podman", "volume", "rm") for call in runner.calls)

    def test_leaves_what_another_service_needs(self, ready: Box) -> None:
        runner = Manager257(ready, running=["a.service", "b.service"])
        go(ready, runner, [A, B, CACHE])
        outcome = go(ready, runner, names=["a"], spec=None)
        assert codes(outcome) == []
        assert runner.running == ["b.service"]
        assert set(ready.tree()) == {"quadgen/b.container", "quadgen/cache.volume"}

    def test_a_service_that_does_not_stop_keeps_its_files(self, ready: Box) -> None:
        runner = Manager257(ready)
        go(ready, runner, [A, CACHE])
        before = ready.tree()
        stuck = FakeRunner({"systemctl --user stop": Completed((), 1, "", "Job for a.service canceled.\n")})
        with pytest.raises(HostError, match=r"systemctl stop failed: Job for a\.service canceled"):
            go(ready, stuck)
        assert ready.tree() == before

    def test_what_the_spec_no_longer_has_is_stopped_but_not_its_helpers(self, ready: Box) -> None:
        runner = Manager257(ready, running=["a.service", "b.service", "cache-volume.service"])
        go(ready, runner, [A, B, CACHE])
        go(ready, runner, [NEW_A])
        assert runner.running == ["a.service", "cache-volume.service"]
        assert set(ready.tree()) == {"quadgen/a.container"}

    def test_a_name_that_is_not_installed(self, ready: Box) -> None:
        with pytest.raises(UsageError, match="no service x"):
            go(ready, Manager257(ready), names=["x"], spec=None)
