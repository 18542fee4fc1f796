from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from served import FAILED, LOADING, MEMORY, MISSING, PAUSING, RUNNING

if TYPE_CHECKING:
    from tests.cli.conftest import Machine

NOW = 1_800_000_000.0
WATCH = {
    "state": "serving",
    "evidence": "2 running, 0 waiting, 31512 tokens",
    "since": NOW - 60,
    "looked": NOW - 5,
    "invocation": "run2",
    "verdicts": [
        {"at": NOW - 7200, "state": "degraded", "evidence": "/health: no answer in time, look 1 of 3"},
        {"at": NOW - 60, "state": "serving", "evidence": "0 running, 0 waiting, 4 tokens"},
    ],
}
STARTS = [
    {
        "invocation": "run0",
        "began": NOW - 90000,
        "ended": NOW - 89000,
        "outcome": "ended",
        "exit": "success (exited 0)",
        "seconds": 72.0,
    },
    {
        "invocation": "run1",
        "began": NOW - 400,
        "ended": NOW - 380,
        "outcome": "failed",
        "seconds": 19.0,
        "reason": MEMORY,
        "phases": {"container": 9.2, "weights": 9.8, "cache": 0.0},
    },
]


@pytest.fixture(autouse=True)
def fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def install(machine: Machine, *names: str) -> None:
    for name in names:
        os.utime(machine.home.install(name), (NOW - 9000, NOW - 9000))


def test_the_table_tells_each_service_and_why(machine: Machine) -> None:
    install(machine, "vllm-a", "vllm-b", "vllm-c", "vllm-d")
    machine.home.history("vllm-a", **WATCH)
    machine.home.history("vllm-c", *STARTS)
    machine.says([RUNNING, {}, LOADING, MISSING, FAILED | {"NRestarts": "3"}, {}, {}, {}])
    done = machine.quadgen("status")
    assert done.stdout == (
        "SERVICE  STATE    SINCE  RESTARTS  ADDRESS         MODEL\n"
        "vllm-a   serving  1h00m         0  127.0.0.1:8000  org/Model-7B\n"
        "  2 running, 0 waiting, 31512 tokens\n"
        "vllm-b   loading  1m12s         0  127.0.0.1:8000  org/Model-7B\n"
        "  loading weights 42 % (8/19), 1m12s\n"
        "vllm-c   failed   5m00s         2  127.0.0.1:8000  org/Model-7B\n"
        "  start limit: 3 starts within 1h; last: the GPU's memory is too small: torch.O…\n"
        "vllm-d   stopped      -         0  127.0.0.1:8000  org/Model-7B\n"
    )
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize("columns", ["80", "75", "200"])
def test_no_line_is_wider_than_the_terminal(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    install(machine, "vllm-with-quite-a-long-name")
    machine.home.install(
        "vllm-b", url="https://[fd00:1234:5678:9abc::17]:8443", root_path="/a/long/root/path"
    )
    machine.home.history("vllm-b", state="misconfigured", evidence="x" * 300, looked=NOW, invocation="run2")
    machine.says([RUNNING, {}, PAUSING, {}])
    done = machine.quadgen("status")
    assert max(len(line) for line in done.stdout.splitlines()) <= int(columns)


def test_a_named_service_is_told_in_full(machine: Machine) -> None:
    install(machine, "vllm-a")
    machine.home.history("vllm-a", *STARTS, **WATCH)
    machine.says([FAILED | {"NRestarts": "3"}, MISSING])
    done = machine.quadgen("status", "vllm-a")
    assert done.exit_code == 1
    assert done.stdout == (
        "vllm-a: failed for 5m00s\n"
        "  why      start limit: 3 starts within 1h; last: the GPU's memory is too small: "
        "torch.OutOfMemoryError: CUDA out of memory\n"
        "  model    org/Model-7B\n"
        "  names    qwen, q\n"
        "  address  127.0.0.1:8000\n"
        "  file     ~/config/containers/systemd/quadgen/vllm-a.container\n"
        "  unit     vllm-a.service, failed (failed), exit-code\n"
        "  restarts 2\n"
        "  watch    last written down 5s ago\n"
        "  starts, the last one first\n"
        "    07:53:20  failed, after 19s of loading, ended 20s after it began\n"
        "      why     the GPU's memory is too small: torch.OutOfMemoryError: CUDA out of memory\n"
        "      remedy  lower gpu-memory-utilization\n"
        "      phases  starting the server 9.2s, loading weights 9.8s\n"
        "    2027-01-14 07:00:00  ended, after 1m12s of loading, ended 16m40s after it began\n"
        "  verdicts, the last one first\n"
        "    07:59:00  serving: 0 running, 0 waiting, 4 tokens\n"
        "    06:00:00  degraded: /health: no answer in time, look 1 of 3\n"
        "  next\n"
        "    journalctl --user -u vllm-a -n 100   read the log\n"
        "    quadgen start vllm-a                 try again, when the reason is mended\n"
    )


@pytest.mark.parametrize(
    ("fields", "watch", "status"),
    [
        (RUNNING, WATCH, 0),
        (RUNNING, WATCH | {"state": "busy"}, 0),
        (RUNNING, WATCH | {"state": "misconfigured"}, 1),
        (LOADING, {}, 1),
        ({}, {}, 1),
    ],
    ids=["serving", "busy", "misconfigured", "loading", "stopped"],
)
def test_a_named_service_that_does_not_serve_is_status_1(
    machine: Machine, fields: dict[str, str], watch: dict[str, Any], status: int
) -> None:
    install(machine, "vllm-a")
    machine.home.history("vllm-a", **watch)
    machine.says([fields, {}])
    assert machine.quadgen("status", "vllm-a.service").exit_code == status
    assert machine.quadgen("status").exit_code == 0


@pytest.mark.parametrize(
    ("fields", "watch", "line"),
    [
        (RUNNING, WATCH, "quadgen probe once vllm-a"),
        (RUNNING, WATCH | {"state": "hung"}, "quadgen probe once vllm-a"),
        (LOADING, {}, "journalctl --user -f -u vllm-a"),
        (PAUSING, {}, "quadgen stop vllm-a"),
        ({"ActiveState": "deactivating"}, {}, "journalctl --user -f -u vllm-a"),
        ({}, {}, "quadgen start vllm-a"),
        ({"LoadState": "masked"}, {}, "systemctl --user unmask vllm-a"),
        (MISSING, {}, "systemctl --user daemon-reload"),
    ],
    ids=["serving", "hung", "loading", "restarting", "draining", "stopped", "masked", "not-loaded"],
)
def test_the_long_view_says_what_to_type_next(
    machine: Machine, fields: dict[str, str], watch: dict[str, Any], line: str
) -> None:
    install(machine, "vllm-a")
    machine.home.history("vllm-a", **watch)
    machine.says([fields, {}])
    assert f"    {line} " in machine.quadgen("status", "vllm-a").stdout


def test_a_service_that_is_gone_is_told_from_its_history(machine: Machine) -> None:
    machine.home.history("vllm-a", *STARTS)
    machine.says([MISSING, MISSING])
    done = machine.quadgen("status", "vllm-a")
    assert done.stdout.startswith("vllm-a: removed for 6m20s\n  why      the GPU's memory is too small")
    assert done.exit_code == 1


def test_json_holds_all_of_it(machine: Machine) -> None:
    install(machine, "vllm-a")
    machine.home.history("vllm-a", *STARTS, **WATCH)
    machine.says([RUNNING, {}])
    table = json.loads(machine.quadgen("status", "--json").stdout)
    (service,) = table["services"]
    assert (service["state"], service["since"], service["restarts"]) == ("serving", NOW - 3600, 0)
    assert service["starts"] == STARTS
    assert service["watch"]["verdicts"] == WATCH["verdicts"]
    assert table["findings"] == []


def test_without_a_manager_the_table_is_what_was_written_down(machine: Machine) -> None:
    install(machine, "vllm-a")
    machine.home.history("vllm-a", **WATCH)
    machine.program("systemctl", "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n")
    done = machine.quadgen("status")
    assert "vllm-a   unknown" in done.stdout
    assert "5s ago serving: 2 running" in done.stdout
    assert "systemd does not answer" in done.stderr
    assert done.exit_code == 0


def test_where_nothing_is_installed_there_is_no_table(machine: Machine) -> None:
    done = machine.quadgen("status")
    assert (done.stdout, done.stderr) == ("", "no service is installed\n    run `quadgen install`\n")
    assert done.exit_code == 0


def test_a_service_that_nobody_knows_is_a_usage_error(machine: Machine) -> None:
    install(machine, "vllm-qwen")
    done = machine.quadgen("status", "vllm-qwem")
    assert done.exit_code == 2
    assert "did you mean vllm-qwen?" in done.stderr
