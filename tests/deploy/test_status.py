from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from quadgen.deploy.status import report
from quadgen.errors import HostError
from quadgen.host.run import Completed, FakeRunner

from .served import FAILED, LOADING, MEMORY, MISSING, NOW, RUNNING, Home, blocks

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def systemd(*units: dict[str, str]) -> FakeRunner:
    """Each service is followed by its watch."""
    return FakeRunner({"systemctl --user show": blocks(*units)})


def old(path: Path) -> None:
    os.utime(path, (NOW - 9000, NOW - 9000))


def test_twenty_services_cost_one_process(home: Home) -> None:
    for number in range(20):
        old(home.install(f"vllm-{number:02}"))
    runner = systemd(*(RUNNING for _ in range(40)))
    found = report(runner, home.env, now=NOW)
    assert [one.service.name for one in found.services] == [f"vllm-{number:02}" for number in range(20)]
    assert len(runner.calls) == 1
    assert len(runner.calls[0][runner.calls[0].index("--") + 1 :]) == 40
    assert found.findings == ()


def test_files_state_and_systemd_are_put_together(home: Home) -> None:
    old(home.install("vllm-a"))
    old(home.install("vllm-b"))
    home.history("vllm-b", {"invocation": "run2", "outcome": "failed", "ended": NOW - 300, "reason": MEMORY})
    found = report(systemd(LOADING, MISSING, FAILED | {"NRestarts": "3"}, {}), home.env, now=NOW)
    assert [(one.condition.state, one.restarts) for one in found.services] == [("loading", 0), ("failed", 2)]
    table = found.services[1].to_json()
    assert (table["state"], table["good"], table["model"]) == ("failed", False, "org/Model-7B")
    assert table["starts"][0]["reason"] == MEMORY
    assert table["unit"]["result"] == "exit-code"


def test_the_watchs_own_words_are_used_while_it_runs(home: Home) -> None:
    old(home.install("vllm-a"))
    watch = {"state": "busy", "evidence": "old", "looked": NOW - 999, "since": NOW, "invocation": "run2"}
    home.history("vllm-a", **watch)
    watcher = {"ActiveState": "active", "StatusText": "busy: 9 running"}
    assert report(systemd(RUNNING, watcher), home.env, now=NOW).services[0].condition.evidence == "9 running"
    ended = watcher | {"ActiveState": "failed"}
    assert report(systemd(RUNNING, ended), home.env, now=NOW).services[0].condition.state == "unknown"


@pytest.mark.parametrize(
    ("answer", "runtime", "remedy"),
    [
        (
            Completed((), 1, "", "Failed to connect to bus"),
            "/run/user/7",
            "log in as the user whose services these are",
        ),
        (
            Completed((), 1, "", "Failed"),
            "",
            "log in as the user whose services these are, or set XDG_RUNTIME_DIR",
        ),
        (HostError("systemctl is not installed", "install systemctl"), "/run/user/7", "install systemctl"),
    ],
    ids=["no bus", "su", "no systemd"],
)
def test_without_a_manager_the_last_known_is_told(
    home: Home, answer: Completed | HostError, runtime: str, remedy: str
) -> None:
    home.install("vllm-a")
    home.history("vllm-a", state="serving", evidence="0 running", looked=NOW - 60)
    found = report(FakeRunner({"systemctl": answer}), home.env | {"XDG_RUNTIME_DIR": runtime}, now=NOW)
    assert found.services[0].condition.evidence == "1m00s ago serving: 0 running"
    assert [(finding.code, finding.remedy) for finding in found.findings] == [("no-user-manager", remedy)]
    assert found.services[0].to_json()["unit"] is None


def test_a_removed_service_is_shown_while_it_runs_or_when_named(home: Home) -> None:
    home.history("vllm-gone", {"outcome": "failed", "ended": NOW - 10, "reason": MEMORY})
    assert report(systemd(MISSING, MISSING), home.env, now=NOW).services == ()
    (named,) = report(systemd(MISSING, MISSING), home.env, ["vllm-gone"], now=NOW).services
    assert named.condition.state == "removed"
    running = report(systemd(RUNNING | MISSING, MISSING), home.env, now=NOW)
    assert [one.service.name for one in running.services] == ["vllm-gone"]
    assert [(finding.code, finding.remedy) for finding in running.findings] == [
        ("no-unit-file", "quadgen stop vllm-gone")
    ]


@pytest.mark.parametrize(
    ("fields", "age", "codes"),
    [
        (RUNNING, 9000, []),
        (RUNNING, 10, ["older-definition"]),
        (RUNNING | {"NeedDaemonReload": "yes"}, 10, ["stale-unit"]),
        (FAILED, 10, []),
        (MISSING, 10, ["unit-not-found"]),
    ],
    ids=["fresh", "changed since its start", "not read yet", "failed", "never read"],
)
def test_what_systemd_runs_is_compared_with_the_files(
    home: Home, fields: dict[str, str], age: float, codes: list[str]
) -> None:
    path = home.install("vllm-a")
    os.utime(path, (NOW - age, NOW - age))
    found = report(systemd(fields, {}), home.env, now=NOW)
    assert [finding.code for finding in found.findings] == codes


def test_a_damaged_probe_file_is_told(home: Home) -> None:
    old(home.install("vllm-a"))
    (home.folder / "vllm-a.probe").write_text("[]")
    found = report(systemd(RUNNING, {}), home.env, now=NOW)
    assert [(finding.code, finding.remedy) for finding in found.findings] == [
        ("probe-file", "quadgen install")
    ]
