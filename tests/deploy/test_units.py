from __future__ import annotations

import os
from pathlib import Path

import pytest

from quadgen.deploy.live import LiveUnit
from quadgen.deploy.units import (
    forget_units,
    needs_restart,
    reload_manager,
    stop_units,
    verify,
)
from quadgen.errors import HostError
from quadgen.host.run import Completed, FakeRunner


def test_no_manager_is_told() -> None:
    runner = FakeRunner({"systemctl": Completed((), 1, "", "Failed to connect to bus: No medium found\n")})
    with pytest.raises(HostError, match="systemctl daemon-reload failed"):
        reload_manager(runner)
    with pytest.raises(HostError, match="systemctl stop failed") as caught:
        stop_units(runner, ["a.service"])
    assert caught.value.remedy == "stop it by hand: systemctl --user stop a.service"


def state(**fields: object) -> LiveUnit:
    return LiveUnit(**{"name": "a.service", "load": "loaded", "source": Path("/c/a.container"), **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "code"),
    [
        pytest.param(state(), None, id="as-installed"),
        pytest.param(state(load="masked"), "masked-unit", id="masked"),
        pytest.param(state(load="not-found", source=None), "unit-not-found", id="not-made"),
        pytest.param(state(load="bad-setting"), "bad-unit", id="refused"),
        pytest.param(state(load="error"), "bad-unit", id="unreadable"),
        pytest.param(state(source=Path("/other/a.container")), "hidden-unit", id="from-another-file"),
        pytest.param(
            state(source=None, fragment=Path("/home/u/.config/systemd/user/a.service")),
            "hidden-unit",
            id="plain-unit",
        ),
        pytest.param(state(stale=True), "stale-unit", id="not-read-yet"),
    ],
)
def test_verification(found: LiveUnit, code: str | None) -> None:
    findings = list(
        verify({"a.service": found}, {"a.service": Path("/c/a.container")}, names={"a.service": "a"})
    )
    assert [f.code for f in findings] == ([] if code is None else [code])
    assert all(f.remedy and f.key == "service.a" and "a.service" in f.message for f in findings)


def test_the_same_file_by_way_of_a_link_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = state(source=tmp_path / "real/a.container")
    assert list(verify({"a.service": found}, {"a.service": tmp_path / "link/a.container"})) == []


@pytest.mark.parametrize(
    ("active", "offset", "changed", "expected"),
    [
        pytest.param("active", -10, [], [], id="file-older-than-the-start"),
        pytest.param("active", 0.9, [], [], id="within-the-same-second"),
        pytest.param("active", 10, [], ["a.service"], id="file-newer"),
        pytest.param("activating", 10, [], ["a.service"], id="loading"),
        pytest.param("active", -10, ["a.service"], ["a.service"], id="replaced-now"),
        pytest.param("inactive", 10, ["a.service"], [], id="not-running"),
        pytest.param("failed", 10, ["a.service"], [], id="failed"),
    ],
)
def test_who_runs_an_older_definition(
    tmp_path: Path, active: str, offset: float, changed: list[str], expected: list[str]
) -> None:
    file = tmp_path / "a.container"
    file.write_text("")
    os.utime(file, (1764000000 + offset, 1764000000 + offset))
    states = {"a.service": state(active=active, began=1764000000.0)}
    assert needs_restart(states, {"a.service": file}, changed) == expected


def test_a_file_that_is_gone_proves_nothing() -> None:
    states = {"a.service": state(active="active", began=1.0)}
    assert needs_restart(states, {"a.service": Path("/not/there")}) == []
    assert needs_restart(states, {}) == []


def test_stopping_nothing_calls_nothing() -> None:
    runner = FakeRunner()
    stop_units(runner, [])
    forget_units(runner, [])
    assert runner.calls == []


def test_forgetting_units_that_nobody_remembers_is_fine() -> None:
    runner = FakeRunner({"systemctl --user reset-failed": Completed((), 1, "", "Unit a.service not loaded.")})
    forget_units(runner, ["a.service", "b.service"])
    assert len(runner.calls) == 2
