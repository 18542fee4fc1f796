from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from served import FAILED, LOADING, MEMORY, MISSING, PAUSING, RUNNING

if TYPE_CHECKING:
    from tests.cli.conftest import Machine

DOWN: dict[str, str] = {}
ENDING = {"ActiveState": "deactivating", "SubState": "stop-sigterm", "Job": "7"}
STARTED = ["reset-failed -- vllm-a.service", "start --no-block -- vllm-a.service"]


def fail(machine: Machine, **changes: Any) -> None:
    """What the probe writes down when the service fails; the clock of the test is the real one."""
    now = time.time() + 1
    given = {"invocation": "run2", "began": now, "ended": now, "outcome": "failed", "reason": MEMORY}
    machine.home.history("vllm-a", given | changes)


def test_a_start_shows_its_phases_and_ends_when_the_model_answers(machine: Machine) -> None:
    machine.home.install("vllm-a")
    machine.says([DOWN], [LOADING | {"StatusText": "starting the server, 2s"}], [LOADING], [RUNNING])
    done = machine.quadgen("start", "vllm-a")
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "vllm-a: starting the server, 2s",
        "vllm-a: loading weights 42 % (8/19), 1m12s",
        "vllm-a: serving qwen, after 0s",
    ]
    assert done.exit_code == 0
    assert machine.calls == STARTED


def test_several_services_are_started_at_once(machine: Machine) -> None:
    machine.home.install("vllm-a")
    machine.home.install("vllm-b")
    machine.says([DOWN, DOWN], [LOADING, RUNNING], [RUNNING])
    done = machine.quadgen("start", "--all")
    assert done.exit_code == 0
    assert machine.calls == [
        "reset-failed -- vllm-a.service vllm-b.service",
        "start --no-block -- vllm-a.service vllm-b.service",
    ]
    assert done.stderr.splitlines()[-2:] == [
        "vllm-b: serving qwen, after 0s",
        "vllm-a: serving qwen, after 0s",
    ]


def test_a_failure_says_why_and_that_systemd_goes_on(machine: Machine) -> None:
    machine.home.install("vllm-a")
    fail(machine)
    machine.says([DOWN], [PAUSING])
    done = machine.quadgen("start", "vllm-a")
    assert done.exit_code == 1
    assert done.stderr.splitlines() == [
        "vllm-a: failed after 0s: the GPU's memory is too small: torch.OutOfMemoryError: CUDA out of memory",
        "    lower gpu-memory-utilization",
        "    systemd goes on trying: start 2 of 3 follows within 10s",
        "    journalctl --user -u vllm-a -n 100",
    ]


def test_a_failure_is_told_while_others_still_load(machine: Machine) -> None:
    machine.home.install("vllm-a")
    machine.home.install("vllm-b")
    fail(machine, reason=MEMORY | {"permanent": True})
    machine.says([DOWN, DOWN], [FAILED, LOADING], [LOADING | {"StatusText": "answering, 9s"}], [RUNNING])
    done = machine.quadgen("start", "--all")
    assert [line for line in done.stderr.splitlines() if line.startswith("vllm-")] == [
        "vllm-b: loading weights 42 % (8/19), 1m12s",
        "vllm-a: failed after 0s: the GPU's memory is too small: torch.OutOfMemoryError: CUDA out of memory",
        "vllm-b: answering, 9s",
        "vllm-b: serving qwen, after 0s",
    ]
    assert "    systemd does not try again: a restart cannot help" in done.stderr.splitlines()
    assert done.exit_code == 1


def test_a_failure_without_a_record_says_the_last_line_of_the_log(machine: Machine) -> None:
    machine.home.install("vllm-a")
    machine.program("journalctl", "#!/bin/sh\necho 'Error: no such image'\n")
    machine.says([DOWN], [FAILED])
    done = machine.quadgen("restart", "vllm-a")
    assert done.stderr.splitlines()[0] == "vllm-a: failed after 0s: Error: no such image"
    assert machine.calls == ["reset-failed -- vllm-a.service", "restart --no-block -- vllm-a.service"]


def test_a_note_of_a_start_that_went_well_is_told(machine: Machine) -> None:
    machine.home.install("vllm-a")
    fail(machine, outcome="serving", reason=None, note="the key differs, the server is alive (HTTP 401)")
    machine.says([DOWN], [RUNNING])
    done = machine.quadgen("start", "vllm-a")
    assert "    the key differs, the server is alive (HTTP 401)" in done.stderr.splitlines()


@pytest.mark.parametrize("verb", ["start", "restart", "stop"])
def test_ctrl_c_ends_the_watching_and_says_so(machine: Machine, verb: str) -> None:
    machine.home.install("vllm-a")
    before, meanwhile = {"start": (DOWN, LOADING)}.get(verb, (RUNNING, ENDING))
    machine.says([before], [meanwhile])
    argv = [sys.executable, "-m", "quadgen", verb, "vllm-a"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert running.stderr.readline().startswith("vllm-a: ")
        running.send_signal(signal.SIGINT)
        told = running.stderr.read()
    assert f"no longer watching; the {verb} goes on\n    quadgen status vllm-a\n" in told
    assert running.returncode == 1
    assert len([call for call in machine.calls if "reset-failed" not in call]) == 1


def test_json_tells_how_each_ended(machine: Machine) -> None:
    machine.home.install("vllm-a")
    fail(machine)
    machine.says([DOWN], [PAUSING])
    done = machine.quadgen("start", "vllm-a", "--json", "--quiet")
    table = json.loads(done.stdout)
    assert table["action"] == "start"
    (service,) = table["services"]
    assert (service["result"], service["reason"], service["next"]) == (
        "failed",
        MEMORY,
        "systemd goes on trying: start 2 of 3 follows within 10s",
    )
    assert (done.exit_code, done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("fields", "severity", "told", "calls"),
    [
        (MISSING, "error", "was not made from", []),
        ({"LoadState": "masked"}, "error", "is masked, so it cannot start", []),
        ({"LoadState": "bad-setting"}, "error", "systemd refuses vllm-a.service: bad-setting", []),
        ({"NeedDaemonReload": "yes"}, "warning", "systemd has not read the present files", STARTED),
    ],
    ids=["not read", "masked", "bad", "changed"],
)
def test_what_systemd_has_not_read_is_told_before_a_start(
    machine: Machine, fields: dict[str, str], severity: str, told: str, calls: list[str]
) -> None:
    machine.home.install("vllm-a")
    machine.says([fields], [RUNNING])
    done = machine.quadgen("start", "vllm-a")
    assert f"{severity}: " in done.stderr
    assert told in done.stderr
    assert done.exit_code == (1 if severity == "error" else 0)
    assert machine.calls == calls


@pytest.mark.parametrize(
    ("before", "after", "told", "calls"),
    [
        (RUNNING, DOWN, "vllm-a: stopped, after 0s", ["stop --no-block -- vllm-a.service"]),
        (PAUSING, DOWN, "vllm-a: stopped, after 0s", ["stop --no-block -- vllm-a.service"]),
        (MISSING, MISSING, "vllm-a: it did not run", []),
    ],
    ids=["serving", "between two attempts", "not running"],
)
def test_a_stop_ends_when_nothing_runs(
    machine: Machine, before: dict[str, str], after: dict[str, str], told: str, calls: list[str]
) -> None:
    machine.home.install("vllm-a")
    machine.says([before], [after])
    done = machine.quadgen("stop", "vllm-a")
    assert (done.stderr.splitlines()[-1], done.exit_code) == (told, 0)
    assert machine.calls == calls


def test_a_service_whose_file_is_gone_can_be_stopped_and_not_started(machine: Machine) -> None:
    machine.home.history("vllm-old")
    machine.says([RUNNING], [DOWN])
    assert machine.quadgen("start", "vllm-old").exit_code == 2
    assert machine.quadgen("stop", "vllm-old").exit_code == 0
    assert machine.calls == ["stop --no-block -- vllm-old.service"]


def test_a_dry_run_prints_the_command_lines(machine: Machine) -> None:
    machine.home.install("vllm-a")
    machine.says([FAILED])
    done = machine.quadgen("start", "vllm-a", "--dry-run")
    assert done.stdout.splitlines() == [f"systemctl --user {line}" for line in STARTED]
    table = json.loads(machine.quadgen("start", "vllm-a", "--dry-run", "--json").stdout)
    assert table["commands"] == done.stdout.splitlines()
    assert machine.calls == []


def test_all_of_nothing_is_no_error(machine: Machine) -> None:
    done = machine.quadgen("stop", "--all")
    assert (done.exit_code, done.stderr) == (0, "no service is installed\n")


def test_what_systemd_refuses_is_an_error(machine: Machine) -> None:
    machine.home.install("vllm-a")
    (machine.programs / "refusal").write_text("Failed to start vllm-a.service: Access denied\n")
    machine.says([DOWN])
    done = machine.quadgen("start", "vllm-a")
    assert done.exit_code == 1
    assert "systemctl start failed: Failed to start vllm-a.service: Access denied" in done.stderr
