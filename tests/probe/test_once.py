from __future__ import annotations

from typing import Any

import pytest
from probe_samples import OK, REFUSED, UNAUTHORIZED, metrics, models, probe_file

from quadgen.probe.client import Answer
from quadgen.probe.doubles import FakeClient, FakeClock, FakeRunner
from quadgen.probe.once import Report, look_once
from quadgen.probe.probefile import Server
from quadgen.probe.process import Completed, Systemd
from quadgen.probe.server import ModelServer, container_key, key_sources, secret_key


def look(answers: dict[str, Answer], unit: str = "active", pid: int = 7) -> Report:
    text = f"ActiveState={unit}\nSubState=x\nMainPID={pid}\n"
    runner = FakeRunner({"systemctl": Completed(status=0, stdout=text)} if unit else {})
    client = FakeClient(lambda request: answers.get(request.path, REFUSED))
    file = probe_file()
    return look_once(file, ModelServer(file, client, []), systemd=Systemd(runner), clock=FakeClock())


GOOD = {"/health": OK, "/v1/models": models("qwen"), "/metrics": metrics(), "/v1/completions": OK}


@pytest.mark.parametrize(
    ("changes", "unit", "pid", "state", "good"),
    [
        ({}, "active", 7, "serving", True),
        ({}, "", 0, "serving", True),
        ({"/metrics": metrics(awake=0)}, "active", 7, "asleep", True),
        ({"/v1/models": models("llama")}, "active", 7, "misconfigured", False),
        ({"/v1/completions": UNAUTHORIZED}, "active", 7, "misconfigured", False),
        ({"/v1/completions": Answer(kind="timeout", seconds=1e9)}, "active", 7, "degraded", False),
        ({"/health": REFUSED}, "active", 7, "degraded", False),
        ({"/health": REFUSED}, "activating", 7, "unknown", False),
        ({"/health": REFUSED}, "deactivating", 7, "draining", False),
        ({"/health": REFUSED}, "failed", 0, "dead", False),
    ],
    ids=[
        *(
            "serving",
            "no-systemd",
            "asleep",
            "names",
            "key",
            "stuck",
            "refused",
            "loading",
            "stopping",
            "failed",
        ),
    ],
)
def test_one_look_at_everything(
    changes: dict[str, Answer],
    unit: str,
    pid: int,
    state: str,
    good: bool,
) -> None:
    report = look(GOOD | changes, unit, pid)
    assert report.verdict.state == state, report.verdict.evidence
    assert report.good is good


def test_every_level_is_told() -> None:
    report = look(GOOD)
    assert [level.name for level in report.levels] == [
        "unit",
        "/health",
        "/v1/models",
        "/metrics",
        "one token",
    ]
    table = report.to_json()
    assert table["state"] == "serving"
    assert table["levels"][1] == {"level": "/health", "answer": "HTTP 200", "seconds": 0.0}


@pytest.mark.parametrize(
    ("done", "key"),
    [
        (Completed(status=0, stdout="s e c\n"), "s e c"),
        (Completed(status=0, stdout="\n"), None),
        (Completed(status=125, stderr="unknown flag: --showsecret"), None),
    ],
    ids=["there", "empty", "older-podman"],
)
def test_a_key_is_read_through_podman(done: Completed, key: str | None) -> None:
    runner: Any = FakeRunner({"podman": done})
    assert secret_key(runner, "k") == key
    assert all("Bearer" not in line for line in runner.ran)


@pytest.mark.parametrize(
    ("done", "key"),
    [
        (Completed(status=0, stdout="PATH=/bin\0VLLM_API_KEY=a=b\0HOME=/\0"), "a=b"),
        (Completed(status=0, stdout="PATH=/bin\0"), None),
        (Completed(status=0), None),
        (Completed(status=125), None),
    ],
    ids=["there", "none", "empty", "no-container"],
)
def test_the_running_servers_key_is_read_from_its_first_process(done: Completed, key: str | None) -> None:
    assert container_key(FakeRunner({"podman exec c cat /proc/1/environ": done}), "c") == key


def test_a_service_without_a_key_asks_podman_nothing() -> None:
    assert key_sources(probe_file(), FakeRunner()) == []


def test_before_podman_4_7_the_key_comes_from_the_container() -> None:
    runner = FakeRunner(
        {
            "podman secret inspect": Completed(status=125, stderr="unknown flag"),
            "podman exec vllm-a cat": Completed(status=0, stdout="VLLM_API_KEY=key\0"),
        }
    )
    server = Server(url="http://h:1", names=("qwen",), api_key_secret="k")  # noqa: S106 - a name
    file = probe_file(server=server)
    client = FakeClient(lambda request: models("qwen") if request.key == "key" else UNAUTHORIZED)
    assert ModelServer(file, client, key_sources(file, runner)).models(1).kind == "ok"
