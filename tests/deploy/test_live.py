from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from quadgen.deploy.live import LiveUnit, live_units
from quadgen.errors import HostError
from quadgen.host.run import Completed, FakeRunner

from .served import FAILED, LOADING, MISSING, NOW, PAUSING, RUNNING, blocks

if TYPE_CHECKING:
    from pathlib import Path


def test_all_units_are_asked_for_in_one_call() -> None:
    runner = FakeRunner(
        {"systemctl --user show": blocks(RUNNING, MISSING, {**LOADING, "NeedDaemonReload": "yes"})}
    )
    found = live_units(runner, ["a.service", "b.service", "c.service"])
    assert len(runner.calls) == 1
    assert runner.calls[0][-4:] == ("--", "a.service", "b.service", "c.service")
    assert found["a.service"] == LiveUnit(
        name="a.service",
        load="loaded",
        active="active",
        sub="running",
        status="serving qwen",
        invocation="run2",
        began=NOW - 4000,
        started=NOW - 3600,
        changed=NOW - 3600,
        delay="10s",
        burst=3,
        window="1h",
    )
    assert (found["b.service"].load, found["b.service"].began) == ("not-found", None)
    assert (found["c.service"].job, found["c.service"].stale) == (True, True)


def test_the_next_delay_is_told_where_it_grows() -> None:
    runner = FakeRunner({"systemctl": blocks({**PAUSING, "RestartUSecNext": "20s"})})
    unit = live_units(runner, ["a.service"])["a.service"]
    assert (unit.delay, unit.pausing) == ("20s", True)


@pytest.mark.parametrize(
    ("fields", "running"),
    [(RUNNING, True), (LOADING, True), (PAUSING, True), (FAILED, False), ({}, False)],
    ids=["active", "loading", "pausing", "failed", "inactive"],
)
def test_what_has_or_gets_a_process_runs(fields: dict[str, str], running: bool) -> None:
    assert live_units(FakeRunner({"systemctl": blocks(fields)}), ["a"])["a"].running is running


def test_nothing_is_asked_about_nothing_or_a_template() -> None:
    runner = FakeRunner()
    assert live_units(runner, ["watch@.service"]) == {}
    assert runner.calls == []


@pytest.mark.parametrize(("written", "stale"), [(10, False), (20, False), (21, True), (None, False)], ids=str)
def test_a_file_written_after_its_unit_was_made_is_one_that_systemd_has_not_read(
    tmp_path: Path, written: int | None, stale: bool
) -> None:
    source, fragment = tmp_path / "a.container", tmp_path / "a.service"
    fragment.touch()
    os.utime(fragment, (20, 20))
    if written is not None:
        source.touch()
        os.utime(source, (written, written))
    fields = {**RUNNING, "SourcePath": str(source), "FragmentPath": str(fragment)}
    unit = live_units(FakeRunner({"systemctl": blocks(fields)}), ["a.service"])["a.service"]
    assert (unit.source, unit.fragment, unit.stale) == (source, fragment, stale)


def test_a_manager_that_does_not_answer_is_an_error() -> None:
    runner = FakeRunner({"systemctl": Completed((), 1, "", "Failed to connect to bus: No medium found\n")})
    with pytest.raises(HostError, match="No medium found"):
        live_units(runner, ["a.service"])
