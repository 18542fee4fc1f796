"""Runtime and watch come before the first unit with a gate, and go after the last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from quadgen.deploy.foundation import Wanted
from quadgen.deploy.runtime import RuntimePlace
from quadgen.host.facts import Manager
from quadgen.quadlet.gate import watch_unit
from quadgen.quadlet.target import Target

from .machine import Box, unit
from .test_install import GENERATOR, Manager257, codes, go
from .test_runtime import NEXT, SMALL

if TYPE_CHECKING:
    from pathlib import Path

    from quadgen.deploy.install import Outcome

A, A_PROBE = unit("a.container"), unit("a.probe", "a", body="{}\n")
B, B_PROBE = unit("b.container"), unit("b.probe", "b", body="{}\n")
WANTED = Wanted(runtime=SMALL, watch=watch_unit(Target()))


@pytest.fixture
def ready(box: Box) -> Box:
    box.host = replace(box.host, manager=Manager(systemd=257), generator=GENERATOR)
    return box


def watch_of(box: Box) -> Path:
    return box.host.config_home / "systemd/user/quadgen-watch@.service"


def bring(box: Box, runner: Manager257, *files: Any, **options: Any) -> Outcome:
    return go(box, runner, files, foundation=WANTED, **options)


def is_there(box: Box) -> tuple[bool, bool]:
    return RuntimePlace.of(box.host.data_folder).is_whole(SMALL), watch_of(box).is_file()


def told(outcome: Outcome) -> list[tuple[str, str]]:
    return [(entry.action, entry.name) for entry in outcome.foundation]


def test_it_comes_with_the_first_gate_and_goes_with_the_last(ready: Box) -> None:
    runner = Manager257(ready)
    first = bring(ready, runner, A, A_PROBE, B, B_PROBE)
    assert told(first) == [("create", SMALL.version), ("create", "quadgen-watch@.service")]
    assert is_there(ready) == (True, True)
    again = bring(ready, runner, A, A_PROBE, B, B_PROBE)
    assert told(again) == []
    assert not again.reloaded
    assert told(go(ready, runner, names=["a"])) == []
    assert is_there(ready) == (True, True)
    last = go(ready, runner, names=["b"])
    assert told(last) == [("remove", "probe"), ("remove", "quadgen-watch@.service")]
    assert is_there(ready) == (False, False)
    assert not RuntimePlace.of(ready.host.data_folder).folder.exists()


def test_without_a_gate_it_does_not_come(ready: Box) -> None:
    assert told(bring(ready, Manager257(ready), A)) == []
    assert is_there(ready) == (False, False)


def test_a_dry_run_tells_and_leaves(ready: Box) -> None:
    outcome = bring(ready, Manager257(ready), A, A_PROBE, dry_run=True)
    assert [action for action, _ in told(outcome)] == ["create", "create"]
    assert is_there(ready) == (False, False)


def test_a_newer_quadgen_renews_it_without_touching_the_units(ready: Box) -> None:
    runner = Manager257(ready)
    bring(ready, runner, A, A_PROBE)
    renewed = go(ready, runner, [A, A_PROBE], foundation=replace(WANTED, runtime=NEXT))
    assert told(renewed) == [("update", NEXT.version)]
    assert renewed.applied.entries == ()
    assert renewed.restart == ()
    assert RuntimePlace.of(ready.host.data_folder).is_whole(NEXT)


def test_nobody_elses_unit_is_touched(ready: Box) -> None:
    mine = ready.put(".config/systemd/user/quadgen-watch@.service", "[Service]\nExecStart=/bin/true\n")
    outcome = bring(ready, Manager257(ready), A, A_PROBE)
    assert codes(outcome) == ["foreign-unit"]
    assert ready.tree() == {}
    assert not RuntimePlace.of(ready.host.data_folder).folder.exists()
    go(ready, Manager257(ready))
    assert mine.read_text() == "[Service]\nExecStart=/bin/true\n"


def test_an_edit_by_hand_is_kept_until_told_otherwise(ready: Box) -> None:
    runner = Manager257(ready)
    bring(ready, runner, A, A_PROBE)
    watch_of(ready).write_text(watch_of(ready).read_text() + "# mine\n")
    kept = bring(ready, runner, A, A_PROBE)
    assert codes(kept) == ["edited-unit"]
    assert "# mine" in watch_of(ready).read_text()
    bring(ready, runner, A, A_PROBE, overwrite=True)
    assert "# mine" not in watch_of(ready).read_text()


def test_a_changed_probe_file_asks_for_a_restart(ready: Box) -> None:
    runner = Manager257(ready, running=["a.service"])
    bring(ready, runner, A, A_PROBE)
    outcome = bring(ready, runner, A, unit("a.probe", "a", body='{"x": 1}\n'))
    assert outcome.restart == ("a.service",)


def test_what_the_probe_wrote_down_goes_with_its_service(ready: Box) -> None:
    runner = Manager257(ready)
    bring(ready, runner, A, A_PROBE)
    note = ready.host.state_home / "quadgen/probe/a/start.json"
    note.parent.mkdir(parents=True)
    note.write_text("{}")
    go(ready, runner)
    assert not note.parent.exists()
    assert ("systemctl", "--user", "reset-failed", "--", "quadgen-watch@a.service") in runner.calls


def test_an_installation_killed_before_the_units_is_finished_or_cleaned_up(ready: Box) -> None:
    runner = Manager257(ready)
    RuntimePlace.of(ready.host.data_folder).folder.mkdir(parents=True)
    watch_of(ready).parent.mkdir(parents=True)
    watch_of(ready).write_text(WANTED.watch)
    assert told(go(ready, runner)) == [("remove", "probe"), ("remove", "quadgen-watch@.service")]
    assert told(go(ready, runner)) == []
