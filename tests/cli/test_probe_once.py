from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from stub_server import Behaviour, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Machine

UP = {"ActiveState": "active", "SubState": "running", "MainPID": "7"}


@pytest.fixture
def server(machine: Machine) -> Iterator[Behaviour]:
    """An installed service that answers."""
    with serving(Behaviour(names=("qwen", "q"))) as (address, behaviour):
        machine.home.install("vllm-a", url=f"http://127.0.0.1:{address[1]}")
        machine.says([UP])
        yield behaviour


@pytest.mark.usefixtures("server")
def test_all_levels_are_a_table(machine: Machine) -> None:
    done = machine.quadgen("probe", "once", "vllm-a")
    assert re.sub(r" +\d+ ms", " N ms", done.stdout) == (
        "vllm-a: serving: one-token request answered\n"
        "  unit        active (running)\n"
        "  /health     HTTP 200 N ms\n"
        "  /v1/models  HTTP 200 N ms\n"
        "  /metrics    HTTP 200 N ms\n"
        "  one token   HTTP 200 N ms\n"
    )
    assert done.exit_code == 0


@pytest.mark.parametrize(
    ("change", "state"),
    [({"names": ("llama",)}, "misconfigured"), ({"health": 503}, "degraded"), ({"work": 500}, "degraded")],
    ids=["other names", "dead engine", "no token"],
)
def test_what_does_not_serve_is_status_1(
    machine: Machine, server: Behaviour, change: dict[str, Any], state: str
) -> None:
    for name, value in change.items():
        setattr(server, name, value)
    done = machine.quadgen("probe", "once", "vllm-a", "--json")
    table = json.loads(done.stdout)
    assert (table["service"], table["state"], done.exit_code) == ("vllm-a", state, 1)
    assert table["levels"][0] == {"level": "unit", "answer": "active (running)", "seconds": 0.0}


def test_a_running_service_is_asked_where_its_start_put_it(machine: Machine, server: Behaviour) -> None:
    installed = machine.home.folder / "vllm-a.probe"
    started = Path(machine.home.env["XDG_RUNTIME_DIR"]) / "quadgen/started/vllm-a.probe"
    started.parent.mkdir(parents=True)
    started.write_text(installed.read_text())
    machine.home.install("vllm-a", url="http://127.0.0.1:1")
    assert machine.quadgen("probe", "once", "vllm-a").exit_code == 0
    started.unlink()
    assert machine.quadgen("probe", "once", "vllm-a").exit_code == 1
    assert "/health" in server.asked


@pytest.mark.parametrize(
    ("text", "told", "status"),
    [(None, "vllm-a is installed without a probe file", 2), ("{}", "schema is None, this probe reads 1", 1)],
    ids=["none", "damaged"],
)
def test_without_a_probe_file_nothing_is_asked(
    machine: Machine, text: str | None, told: str, status: int
) -> None:
    machine.home.install("vllm-a", probe=False)
    if text is not None:
        (machine.home.folder / "vllm-a.probe").write_text(text)
    done = machine.quadgen("probe", "once", "vllm-a")
    assert (done.exit_code, told in done.stderr) == (status, True)


def test_of_a_container_that_checks_itself_its_own_check_is_named(machine: Machine) -> None:
    body = "[Container]\nContainerName=vllm-a\nHealthCmd=true\n"
    machine.home.install("vllm-a", body=body, probe=False)
    done = machine.quadgen("probe", "once", "vllm-a")
    assert done.exit_code == 2
    assert "ask as its own check does: podman healthcheck run vllm-a; or set mode" in done.stderr
