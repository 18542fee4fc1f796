from __future__ import annotations

import json
from typing import Any

import pytest

from quadgen.deploy.condition import Seen, condition
from quadgen.deploy.health import Health, healths
from quadgen.deploy.live import live_units
from quadgen.deploy.status import report
from quadgen.errors import HostError
from quadgen.host.run import Completed, FakeRunner

from .served import LOADING, MISSING, NOW, RUNNING, Home, blocks

CHECKED = (
    '[Container]\nImage=docker.io/x/y:1\nContainerName=vllm-c\nHealthCmd=["python3", "-c", "x"]\n'
    "HealthInterval=15s\nNotify=healthy\nPublishPort=127.0.0.1:8000:8000\n"
)
PASSED = {
    "Start": "2027-01-15T07:59:57.5Z",
    "End": "2027-01-15T07:59:58.123456789Z",
    "ExitCode": 0,
    "Output": "",
}
REFUSED = PASSED | {"ExitCode": 1, "Output": "Traceback:\nConnectionRefusedError: [Errno 111]\n"}
BEGUN = {"InactiveExitTimestamp": f"@{int(NOW) - 72}"}


def inspected(*log: dict[str, Any], status: str, failing: int = 0, name: str = "vllm-c") -> str:
    """What Podman prints of one container, of which only the read part is kept."""
    health = {"Status": status, "FailingStreak": failing, "Log": list(log) or None}
    config = {
        "Healthcheck": {"Test": ["CMD", "python3"], "Interval": 15_000_000_000, "Timeout": 5_000_000_000}
    }
    return json.dumps([{"Name": name, "State": {"Health": health}, "Config": config}])


def asked(text: str, status: int = 0) -> FakeRunner:
    return FakeRunner({"podman container inspect": Completed((), status, text, "")})


def test_the_last_check_is_read() -> None:
    runner = asked(inspected(PASSED, REFUSED, status="unhealthy", failing=4))
    assert healths(runner, ["vllm-c"]) == {
        "vllm-c": Health(
            status="unhealthy",
            checks=2,
            failing=4,
            output="ConnectionRefusedError: [Errno 111]",
            ended=pytest.approx(NOW - 1.877, abs=0.01),
            interval=15.0,
            timeout=5.0,
        )
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "[1]",
        '[{"Name": "vllm-c", "State": {}}]',
        '[{"Name": "vllm-c", "State": {"Health": null}}]',
    ],
)
def test_what_tells_no_health_is_passed_over(text: str) -> None:
    assert healths(asked(text, 125), ["vllm-c"]) == {}


def test_without_podman_or_containers_there_is_none() -> None:
    assert healths(FakeRunner({"podman": HostError("podman is not installed")}), ["vllm-c"]) == {}
    silent = FakeRunner({})
    assert healths(silent, []) == {}
    assert silent.calls == []


@pytest.mark.parametrize(
    ("fields", "health", "state", "evidence"),
    [
        (
            LOADING,
            Health(status="starting", interval=30),
            "loading",
            "no health check has run yet",
        ),
        (
            LOADING,
            Health(status="starting", interval=15),
            "loading",
            "no health check has run for 1m12s, and one is due every 15s",
        ),
        (
            LOADING,
            Health(status="starting", checks=1, output="refused", ended=NOW - 3, interval=15),
            "loading",
            "Podman's health check failed, 3s ago: refused",
        ),
        (
            RUNNING,
            Health(status="healthy", checks=5, passed=True, ended=NOW - 3, interval=15),
            "serving",
            "Podman's health check was passed, 3s ago",
        ),
        (
            RUNNING,
            Health(status="unhealthy", checks=5, failing=4, ended=NOW - 3, interval=15),
            "degraded",
            "Podman's health check failed, 4 in a row, 3s ago",
        ),
        (
            RUNNING,
            Health(status="starting", checks=5, failing=4, ended=NOW - 3, interval=15),
            "loading",
            "Podman's health check failed, 4 in a row, 3s ago",
        ),
        (
            RUNNING,
            Health(status="healthy", checks=5, passed=True, ended=NOW - 90, interval=15, timeout=30),
            "unknown",
            "no health check has run for 1m30s, and one is due every 15s",
        ),
        (
            RUNNING | BEGUN,
            Health(status="starting", interval=15),
            "unknown",
            "no health check has run for 1m12s, and one is due every 15s",
        ),
    ],
    ids=[
        "no check yet",
        "late",
        "failing",
        "healthy",
        "unhealthy",
        "no Notify",
        "no more checks",
        "timers stand still",
    ],
)
def test_podmans_word_counts_where_nothing_else_looks(
    fields: dict[str, str], health: Health, state: str, evidence: str
) -> None:
    unit = live_units(FakeRunner({"systemctl": blocks(fields)}), ["a.service"])["a.service"]
    found = condition(Seen(unit=unit, probed=False, watch={}, health=health, now=NOW))
    assert (found.state, found.evidence) == (state, evidence)


def test_podman_is_asked_once_and_only_for_what_it_checks(tmp_path: Any) -> None:
    home = Home(tmp_path)
    home.install("vllm-a")
    home.install("vllm-b", body=CHECKED.replace("vllm-c", "other"), probe=False)
    home.install("vllm-c", body=CHECKED, probe=False)
    home.install("vllm-d", body=CHECKED, probe=False)
    runner = FakeRunner(
        {
            "systemctl --user show": blocks(RUNNING, {}, RUNNING, {}, RUNNING, {}, MISSING, {}),
            "podman container inspect": inspected(PASSED, status="healthy", name="other"),
        }
    )
    found = report(runner, home.env, now=NOW)
    assert [one.condition.state for one in found.services] == ["unknown", "serving", "running", "not-loaded"]
    assert [call for call in runner.calls if call[0] == "podman"] == [
        ("podman", "container", "inspect", "other", "vllm-c")
    ]


def test_a_timer_that_stands_still_is_told_with_its_remedy(tmp_path: Any) -> None:
    home = Home(tmp_path)
    home.install("vllm-c", body=CHECKED, probe=False)
    runner = FakeRunner(
        {
            "systemctl --user show": blocks(LOADING, {}),
            "podman container inspect": inspected(status="starting"),
        }
    )
    codes = {finding.code: finding.remedy for finding in report(runner, home.env, now=NOW).findings}
    assert codes["no-health-check"] == "systemctl --user daemon-reexec"
