"""Started means serving: gate and watch against everything that goes wrong, on a real host.

quadgen's own environment is away while these run: what units run must not need it.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from testhost import BASE_IMAGE
from testhost.served import Load, Served

from .gate_services import CERTIFICATES, HANG, INTERVAL, PORTS, SOCKETS, UPDATED, spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .conftest import BootedHost

    Service = Callable[[str], Served]

QUADGEN = "/src/scripts/quadgen"
ENVIRONMENT = ".local/share/quadgen/environment"
CONFIG = ".config/quadgen/quadgen.toml"
# One release is enough for what only vLLM itself can show; each of these loads it anew.
ON_ONE = pytest.mark.parametrize("host", ["trixie"], indirect=True)
# vLLM stops within this; without the gate's help a stop while it loads takes 40 s.
NO_STOP_TIMEOUT = 25
# A cold start on a busy machine.
SERVING = 600

CDI = """
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    env: ["PRETENDED_GPU=0"]
"""
CERTIFICATE = f"""
set -e; mkdir -p {CERTIFICATES} {SOCKETS}; cd {CERTIFICATES}
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=ca 2>/dev/null
openssl req -newkey rsa:2048 -nodes -keyout key.pem -out req.pem -subj /CN=models.example 2>/dev/null
echo subjectAltName=DNS:models.example >ext
openssl x509 -req -in req.pem -CA ca.pem -CAkey ca.key -days 2 -extfile ext -out cert.pem 2>/dev/null
"""


@pytest.fixture(scope="module")
def service(host: BootedHost) -> Iterator[Service]:
    """All services installed, and quadgen itself gone."""
    host.user("sh", "-c", CERTIFICATE)
    make = "mkdir -p /etc/cdi && cat >/etc/cdi/gate.yaml"
    assert host.host.run(["sh", "-c", make], root=True, input=CDI).returncode == 0
    host.host.run(["podman", "secret", "create", "--replace", "gate-key", "-"], input="the right one")
    build_update(host)
    host.user("mkdir", "-p", ".config/quadgen")
    host.host.run(["sh", "-c", f"cat >{CONFIG}"], input=spec())
    host.user(QUADGEN, "install")
    host.user("mv", ENVIRONMENT, f"{ENVIRONMENT}.gone")
    yield lambda name: Served(host.host, name, PORTS[name])
    host.user("mv", f"{ENVIRONMENT}.gone", ENVIRONMENT)
    host.user(QUADGEN, "uninstall", "--all")
    host.user("sh", "-c", f"rm -r {CONFIG} {CERTIFICATES} {SOCKETS}; podman secret rm gate-key")
    assert host.host.run(["rm", "-f", "/etc/cdi/gate.yaml"], root=True).returncode == 0


@pytest.fixture
def serving(service: Service) -> Served:
    """The real server, serving."""
    real = service("vllm-gate")
    if real.active() != "active/running":
        assert real.fresh_start(SERVING).status == 0, real.journal()
    return real


@pytest.fixture
def tell(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a figure, which no test asserts."""

    def say(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n    {request.node.name}: {text}\n")

    return say


def comes_back(service: Served, fault: Callable[[], object], within: float) -> str:
    run, begun = service.invocation(), time.monotonic()
    fault()
    ended = service.wait_ended(run, within)
    service.wait_serving(run, SERVING)
    return f"ended after {ended:.1f} s, serving again after {time.monotonic() - begun:.1f} s"


# --- The real server ------------------------------------------------------------------------------------


def test_a_started_unit_is_a_serving_one(service: Service, tell: Callable[[str], None]) -> None:
    real = service("vllm-gate")
    started = real.fresh_start(SERVING)
    status, body = real.ask("/v1/models")
    assert started.status == 0, real.journal()
    assert status == 200
    assert b'"tiny with a blank and 100%"' in body
    record = real.starts()[-1]
    tell(f"{started.seconds:.1f} s, by phase {record['phases']}")
    assert record["outcome"] == "serving"
    assert real.show("StatusText")["StatusText"].startswith("serving tiny")
    log = real.journal(2000)
    # One line a phase, and none for a poll.
    assert len(re.findall(r"^quadgen gate: ", log, re.MULTILINE)) < 15
    assert "GET /health" not in log
    assert "GET /v1/models" not in log
    real.wait("watched", lambda: real.watched().get("state") == "serving", 60)


@ON_ONE
@pytest.mark.parametrize("fault", ["engine killed", "engine stopped", "server stopped"])
def test_what_is_dead_or_hung_is_restarted(serving: Served, fault: str, tell: Callable[[str], None]) -> None:
    act = {
        "engine killed": lambda: serving.signal("engine", "KILL"),
        "engine stopped": lambda: serving.signal("engine", "STOP"),
        "server stopped": lambda: serving.signal("api", "STOP"),
    }[fault]
    # An idle server is asked for a token now and then: the watch has to come to that first.
    tell(comes_back(serving, act, 2 * HANG + 2 * INTERVAL + 30))
    kinds = {"engine stopped": "hung", "server stopped": "hung"}
    reasons = [row["reason"]["kind"] for row in serving.starts()[-2:] if row.get("reason")]
    assert reasons[-1:] == [kinds.get(fault, reasons[-1])]
    assert serving.watched()["state"] in {"serving", "dead"}


@ON_ONE
def test_an_engine_that_hangs_under_requests_is_restarted(
    serving: Served, tell: Callable[[str], None]
) -> None:
    with Load(serving, 4, timeout=20):
        time.sleep(3)
        tell(comes_back(serving, lambda: serving.signal("engine", "STOP"), HANG + 2 * INTERVAL + 30))
    assert "hung" in {kill["state"] for kill in serving.watched()["kills"]}


@ON_ONE
@pytest.mark.parametrize("seconds", [60, pytest.param(600, marks=pytest.mark.long)])
def test_a_busy_server_is_left_alone(serving: Served, seconds: int, tell: Callable[[str], None]) -> None:
    run, begun = serving.invocation(), time.monotonic()
    api, looks = serving.pid("api"), Counter[str]()
    with Load(serving, 64, tokens=48) as load:
        while time.monotonic() - begun < seconds:
            time.sleep(22)
            looks[serving.watched()["state"]] += 1
            # Every probe of these seconds runs into its timeout.
            serving.host.run(["kill", "-s", "STOP", str(api)])
            time.sleep(8)
            serving.host.run(["kill", "-s", "CONT", str(api)])
    tell(f"{time.monotonic() - begun:.0f} s, {load.answered} answered, {load.failed} failed, {dict(looks)}")
    assert serving.invocation() == run
    assert load.answered > 0


@ON_ONE
@pytest.mark.parametrize("name", ["KILL", "STOP"])
def test_the_end_of_a_watch_does_not_touch_the_model(
    serving: Served, name: str, tell: Callable[[str], None]
) -> None:
    run, watch = serving.invocation(), serving.pid("watch")
    serving.signal("watch", name)
    back = serving.wait("watched again", lambda: serving.pid("watch") not in (0, watch), 90)
    tell(f"watch back after {back:.1f} s")
    assert serving.invocation() == run


@ON_ONE
def test_a_manager_that_is_executed_anew_disturbs_nothing(serving: Served) -> None:
    run, watch = serving.invocation(), serving.pid("watch")
    serving.host.run(["systemctl", "--user", "daemon-reexec"], timeout=120)
    assert (serving.active(), serving.invocation(), serving.pid("watch")) == ("active/running", run, watch)


@ON_ONE
def test_stopping_while_it_loads_waits_for_no_timeout(service: Service, tell: Callable[[str], None]) -> None:
    real = service("vllm-gate")
    real.host.run(["systemctl", "--user", "reset-failed", real.name])
    real.host.run(["systemctl", "--user", "restart", "--no-block", real.name])
    real.wait("loading", lambda: real.active() == "activating/start-post", 120)
    time.sleep(3)
    stopped = real.control("stop")
    tell(f"{stopped.seconds:.1f} s")
    assert stopped.seconds < NO_STOP_TIMEOUT
    assert real.active() == "inactive/dead"
    assert real.host.run(["podman", "ps", "--all", "--quiet"]).stdout == ""


@ON_ONE
def test_an_option_that_is_refused_late_fails_the_start_for_good(
    service: Service, tell: Callable[[str], None]
) -> None:
    late = service("vllm-late")
    started = late.fresh_start(SERVING)
    tell(f"{started.seconds:.1f} s: {late.reason().get('line')}")
    assert started.status != 0
    late.wait("failed", lambda: late.active() == "failed/failed", 30)
    assert late.reason()["kind"] == "config"
    assert late.show("NRestarts")["NRestarts"] == "0"


# --- Stubs ----------------------------------------------------------------------------------------------


def test_another_name_fails_the_start_for_good(service: Service, tell: Callable[[str], None]) -> None:
    other = service("wrong-names")
    started = other.fresh_start()
    tell(f"{started.seconds:.1f} s")
    assert started.status != 0
    assert started.seconds < NO_STOP_TIMEOUT
    other.wait("failed", lambda: other.active() == "failed/failed", 30)
    assert "serves another, one, not tiny" in other.reason()["what"]
    assert other.show("NRestarts")["NRestarts"] == "0"


def test_a_key_that_differs_restarts_nothing(service: Service) -> None:
    keyed = service("wrong-key")
    assert keyed.fresh_start().status == 0
    assert "the key differs" in keyed.show("StatusText")["StatusText"]
    run = keyed.invocation()
    keyed.wait("judged", lambda: keyed.watched().get("state") == "misconfigured", 30)
    time.sleep(8)
    assert keyed.invocation() == run
    keyed.control("stop")


def test_a_stop_while_loading_is_no_failure(service: Service, tell: Callable[[str], None]) -> None:
    loading = service("loading")
    loading.host.run(["systemctl", "--user", "start", "--no-block", loading.name])
    loading.wait("loading", lambda: loading.active() == "activating/start-post", 60)
    told = loading.wait("told", lambda: "loading weights" in loading.show("StatusText")["StatusText"], 60)
    stopped = loading.control("stop")
    tell(f"phase told after {told:.1f} s, stopped within {stopped.seconds:.1f} s")
    assert stopped.seconds < NO_STOP_TIMEOUT
    assert (loading.active(), loading.starts()[-1]["outcome"]) == ("inactive/dead", "ended")


@pytest.mark.parametrize(
    ("name", "kind", "attempts"),
    [("crash", "exit-1", 3), ("no-device", "cdi", 3), ("no-image", "image", 1)],
)
def test_what_cannot_start_stays_failed_with_its_reason(
    service: Service, name: str, kind: str, attempts: int, tell: Callable[[str], None]
) -> None:
    broken, begun = service(name), time.monotonic()
    started = broken.fresh_start()
    assert started.status != 0
    broken.wait("failed", lambda: broken.active() == "failed/failed", 120)
    tell(f"first attempt {started.seconds:.1f} s, failed for good after {time.monotonic() - begun:.1f} s")
    assert broken.reason()["kind"] == kind
    assert name != "crash" or broken.reason()["line"] == "RuntimeError: made to fail"
    # Every attempt's reason is kept. systemd's own NRestarts also counts the one that the limit refused.
    assert [row["reason"]["kind"] for row in broken.starts()] == [kind] * attempts


def test_two_services_never_load_onto_one_card_at_once(service: Service) -> None:
    one, two = service("card-one"), service("card-two")
    two.host.run(["systemctl", "--user", "start", "--no-block", two.name])
    assert one.fresh_start().status == 0
    # It comes back again and again while the other loads.
    for _ in range(2):
        one.control("restart")
    two.wait("failed", lambda: two.active() == "failed/failed", 120)
    spans = sorted(span for log in (one.journal(2000), two.journal(2000)) for span in loads(log))
    assert len(spans) >= 5
    for (_, end), (begin, _) in pairwise(spans):
        assert end <= begin
    one.control("stop")


def loads(log: str) -> list[tuple[float, float]]:
    times = re.findall(r"^load (begins|ends) ([\d.]+)$", log, re.MULTILINE)
    begins = [float(at) for what, at in times if what == "begins"]
    ends = [float(at) for what, at in times if what == "ends"]
    assert len(begins) == len(ends)
    return list(zip(begins, ends, strict=True))


def build_update(host: BootedHost, *lines: str) -> None:
    text = "\n".join((f"FROM {BASE_IMAGE}", "LABEL made=" + str(time.time_ns()), *lines))
    built = host.host.run(["podman", "build", "--quiet", f"--tag={UPDATED}", "-"], input=text)
    assert built.returncode == 0, built.stderr


def test_an_update_to_a_broken_image_is_rolled_back(
    service: Service, host: BootedHost, tell: Callable[[str], None]
) -> None:
    updated = service("update")
    assert updated.fresh_start().status == 0
    good = host.user("podman", "image", "inspect", "--format", "{{.Id}}", UPDATED)
    build_update(host, "ENV DIE=option LOAD=1")
    begun = time.monotonic()
    done = host.host.run(["podman", "auto-update", "--format", "{{.Unit}} {{.Updated}}"], timeout=300)
    tell(f"{time.monotonic() - begun:.1f} s: {done.stdout.strip()}")
    assert "update.service rolled back" in done.stdout
    assert updated.active() == "active/running"
    assert host.user("podman", "image", "inspect", "--format", "{{.Id}}", UPDATED) == good
    updated.control("stop")


def test_a_good_update_is_one(service: Service, host: BootedHost) -> None:
    updated = service("update")
    assert updated.fresh_start().status == 0
    build_update(host)
    done = host.host.run(["podman", "auto-update", "--format", "{{.Unit}} {{.Updated}}"], timeout=300)
    assert "update.service true" in done.stdout
    assert updated.active() == "active/running"
    updated.control("stop")


@pytest.mark.parametrize("name", ["tls", "elsewhere", "unix"])
def test_it_finds_the_server_wherever_it_is(service: Service, host: BootedHost, name: str) -> None:
    found = service(name)
    if name == "unix":
        stale = "import socket; socket.socket(socket.AF_UNIX).bind('gate-sockets/vllm.sock')"
        host.user("python3", "-c", stale)
    assert found.fresh_start().status == 0, found.journal()
    found.wait("watched", lambda: found.watched().get("state") == "serving", 60)
    found.control("stop")


def test_an_installation_beside_a_running_service_does_not_disturb_it(
    service: Service, host: BootedHost
) -> None:
    running = service("slow")
    assert running.fresh_start().status == 0
    run, file = running.invocation(), ".config/containers/systemd/quadgen/slow.probe"
    # As an installation would, with another port: the watch of this start goes by what it began with.
    host.user("sh", "-c", f'sed -i \'s/:{running.port}/:1/; s/"interval": 15/"interval": 1/\' {file}')
    host.user("systemctl", "--user", "restart", running.watch)
    time.sleep(8)
    assert running.invocation() == run
    assert running.watched()["state"] == "serving"
    host.user("sh", "-c", f'sed -i \'s/:1"/:{running.port}"/; s/"interval": 1,/"interval": 15,/\' {file}')
    running.control("stop")


# --- The whole host: the last test, for what is not in the home folder is gone ---------------------------


def test_after_a_restart_of_the_host_model_and_watch_are_back(
    serving: Served, host: BootedHost, tell: Callable[[str], None]
) -> None:
    run = serving.invocation()
    host.reboot()
    tell(f"serving after {serving.wait_serving(run, SERVING):.1f} s")
    serving.wait("watched", lambda: serving.pid("watch") != 0, 30)
    assert serving.control("stop").seconds < NO_STOP_TIMEOUT
