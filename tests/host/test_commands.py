"""`start`, `restart`, `stop`, `status` and `probe once` on a real host, with the gate's own words and records."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from testhost import BASE_IMAGE, tiny_service
from testhost.places import VLLM_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import CompletedProcess

    from .conftest import BootedHost

QUADGEN = "/src/scripts/quadgen"
CONFIG = ".config/quadgen/quadgen.toml"
UNITS = ".config/containers/systemd/quadgen"
# One release is enough for what only vLLM itself can show.
ON_ONE = pytest.mark.parametrize("host", ["trixie"], indirect=True)
# A cold start on a busy machine.
SERVING = 600
# Stands for a server: does what its shell script says, and never answers.
STUB = """
[service.{name}]
model = "org/stub"
image = "{image}"
vllm = "{vllm}"
entrypoint = ["/bin/sh", "-c", "{script}"]
accelerator = "none"
offline = true
start-on-boot = false
listen = {port}
{more}
"""
BROKEN = "sleep 1; echo ValueError: broken on purpose >&2; exit 3"
FEW = "restart = { attempts = 2, delay = 1, max-delay = 1 }"


def stub(name: str, script: str, port: int, more: str = "") -> str:
    return STUB.format(name=name, image=BASE_IMAGE, vllm=VLLM_VERSION, script=script, port=port, more=more)


@pytest.fixture(scope="module")
def services(host: BootedHost) -> Iterator[BootedHost]:
    """A real service, one that loads for ever, and one that always fails; none of them runs."""
    more = "start-on-boot = false\nprobe.interval = 3\nserve.max-model-len = 256"
    spec = tiny_service("vllm-tiny", "8371", more)
    spec += stub("endless", "exec sleep 900", 8372) + stub("broken", BROKEN, 8373, FEW)
    host.user("mkdir", "-p", ".config/quadgen")
    assert host.host.run(["sh", "-c", f"cat >{CONFIG}"], input=spec).returncode == 0
    host.user(QUADGEN, "install")
    yield host
    host.user(QUADGEN, "uninstall", "--all")
    host.user("rm", CONFIG)


@pytest.fixture(autouse=True)
def none_runs(services: BootedHost) -> Iterator[None]:
    yield
    assert quadgen(services, "stop", "--all").returncode == 0


def quadgen(host: BootedHost, *words: str, timeout: float = SERVING) -> CompletedProcess[str]:
    return host.host.run([QUADGEN, *words], timeout=timeout)


def status(host: BootedHost, name: str) -> dict[str, Any]:
    table = json.loads(quadgen(host, "status", name, "--json").stdout)
    found: dict[str, Any] = table["services"][0]
    return found


@ON_ONE
def test_a_service_is_started_looked_at_and_stopped(services: BootedHost) -> None:
    started = quadgen(services, "start", "vllm-tiny")
    assert started.returncode == 0, started.stderr
    lines = started.stderr.splitlines()
    assert any(line.startswith("vllm-tiny: starting the server") for line in lines)
    assert lines[-1].startswith("vllm-tiny: serving tiny, after ")

    shown = status(services, "vllm-tiny")
    assert (shown["state"], shown["good"], shown["address"]) == ("serving", True, "127.0.0.1:8371")
    assert shown["starts"][-1]["outcome"] == "serving"
    assert quadgen(services, "status", "vllm-tiny").returncode == 0

    looked = quadgen(services, "probe", "once", "vllm-tiny")
    assert looked.returncode == 0, looked.stdout
    assert re.search(r"one token +HTTP 200 +\d+ ms", looked.stdout)

    again = quadgen(services, "start", "vllm-tiny")
    assert (again.returncode, again.stderr.splitlines()[-1]) == (0, "vllm-tiny: serving tiny already")

    stopped = quadgen(services, "stop", "vllm-tiny")
    assert stopped.returncode == 0
    assert status(services, "vllm-tiny")["state"] == "stopped"
    assert quadgen(services, "probe", "once", "vllm-tiny").returncode == 1


def test_a_failing_service_is_told_with_its_reason_until_the_limit_and_beyond(services: BootedHost) -> None:
    for _ in range(2):
        # The second time the start limit has been reached.
        failed = quadgen(services, "start", "broken")
        assert failed.returncode == 1
        assert "broken on purpose" in failed.stderr
        assert "systemd goes on trying: start 2" in failed.stderr
        until = "until [ $(systemctl --user show --property=ActiveState --value broken) = failed ]; do sleep 0.2; done"
        services.user("timeout", "60", "sh", "-c", until)
    shown = status(services, "broken")
    assert shown["state"] == "failed"
    assert shown["evidence"].startswith("start limit: 2 starts within ")
    assert "broken on purpose" in shown["evidence"]
    assert [start["outcome"] for start in shown["starts"][-4:]] == ["failed"] * 4
    whole = quadgen(services, "status", "broken")
    assert whole.returncode == 1
    assert "    quadgen start broken " in whole.stdout


def test_the_table_holds_all_services_in_every_state(services: BootedHost) -> None:
    quadgen(services, "start", "broken")
    services.user("systemctl", "--user", "start", "--no-block", "endless")
    shown = quadgen(services, "status")
    assert shown.returncode == 0
    rows = {line.split()[0]: line.split()[1] for line in shown.stdout.splitlines() if line[0] != " "}
    assert rows.pop("broken") in {"restarting", "loading", "failed", "draining"}
    assert rows == {"SERVICE": "STATE", "endless": "loading", "vllm-tiny": "stopped"}
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_ctrl_c_leaves_the_start_alone_and_a_stop_ends_it_at_once(services: BootedHost) -> None:
    # In the foreground: else it sends a second signal, to the group.
    argv = ["timeout", "--foreground", "--preserve-status", "--signal=INT", "8", QUADGEN, "start", "endless"]
    watched = services.host.run(argv, timeout=60)
    assert watched.returncode == 1
    assert "no longer watching; the start goes on" in watched.stderr
    shown = status(services, "endless")
    assert (shown["state"], shown["evidence"].partition(",")[0]) == ("loading", "starting the server")
    stopped = quadgen(services, "stop", "endless", timeout=25)
    assert stopped.returncode == 0, stopped.stderr
    assert status(services, "endless")["starts"][-1]["outcome"] == "ended"


def test_what_systemd_has_not_read_is_told(services: BootedHost) -> None:
    file = f"{UNITS}/broken.container"
    services.user("touch", file)
    warned = quadgen(services, "start", "broken")
    assert "systemd has not read the present files of broken.service" in warned.stderr
    assert quadgen(services, "stop", "broken").returncode == 0
    services.user("sh", "-c", f"mv {file} . && systemctl --user daemon-reload && mv broken.container {file}")
    refused = quadgen(services, "start", "broken")
    assert (refused.returncode, "quadgen install" in refused.stderr) == (1, True)
    assert status(services, "broken")["state"] == "not-loaded"
    services.user(QUADGEN, "install")
    services.user("systemctl", "--user", "daemon-reload")


def test_a_running_service_whose_files_are_gone_is_seen_and_stopped(services: BootedHost) -> None:
    services.user("systemctl", "--user", "start", "--no-block", "endless")
    wait = "until [ $(systemctl --user show --property=SubState --value endless) = start-post ]; do sleep 0.2; done"
    services.user("timeout", "60", "sh", "-c", wait)
    files = f"{UNITS}/endless.container"
    services.user("sh", "-c", f"mv {files} . && systemctl --user daemon-reload")
    try:
        shown = quadgen(services, "status", "endless")
        assert shown.stdout.startswith("endless: loading")
        assert "its unit file is gone" in shown.stderr
        assert quadgen(services, "stop", "endless").returncode == 0
        assert status(services, "endless")["state"] == "removed"
    finally:
        services.user("sh", "-c", f"mv endless.container {files} && systemctl --user daemon-reload")


def test_without_a_manager_the_last_known_is_shown(services: BootedHost) -> None:
    quadgen(services, "start", "broken")
    assert quadgen(services, "stop", "broken").returncode == 0
    done = services.host.run(
        ["env", "-u", "XDG_RUNTIME_DIR", "-u", "DBUS_SESSION_BUS_ADDRESS", QUADGEN, "status"]
    )
    assert done.returncode == 0
    assert re.search("^broken +unknown", done.stdout, re.MULTILINE)
    assert "systemd does not answer" in done.stderr
