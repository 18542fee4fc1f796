"""The commands as units run them: real processes, a real server, stand-ins for podman and systemctl."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from probe_samples import probe_file
from stub_server import Behaviour, certificate, free_port, serving

from quadgen.probe.main import COMMANDS, main
from quadgen.probe.probefile import Budgets, Needs, ProbeFile, Server
from quadgen.probe.state import ServiceState

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 60


class Host:
    """A machine of its own: a home, a runtime folder, and a PATH with stand-ins."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.state = ServiceState(folder / "state" / "quadgen" / "probe", "vllm-a")
        self.main = subprocess.Popen(["/bin/sleep", "600"])
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(folder / "notify"))
        os.set_blocking(self.notify.fileno(), False)
        self.started: list[subprocess.Popen[str]] = []
        self.stand_in("podman", f'echo "podman $*" >> {folder}/ran\nkill -9 {self.main.pid}\n')
        self.stand_in(
            "systemctl", f'echo "systemctl $*" >> {folder}/ran\ncat {folder}/unit 2>/dev/null || true\n'
        )
        self.stand_in("journalctl", "exit 1\n")
        self.unit("active")

    def stand_in(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def log(self, *texts: str) -> None:
        """Let the journal hold these lines, and be followed for more."""
        (self.folder / "log").write_text("".join(json.dumps({"MESSAGE": text}) + "\n" for text in texts))
        self.stand_in("journalctl", f"cat {self.folder}/log; exec sleep 60\n")

    def unit(self, active: str) -> None:
        text = f"ActiveState={active}\nSubState=running\nInvocationID=aaa\nMainPID={self.main.pid}\n"
        (self.folder / "unit").write_text(text)

    @property
    def ran(self) -> list[str]:
        path = self.folder / "ran"
        return path.read_text().splitlines() if path.exists() else []

    def start(self, command: str, file: ProbeFile, **environ: str) -> subprocess.Popen[str]:
        path = self.folder / "vllm-a.json"
        path.write_text(file.to_json())
        process = subprocess.Popen(
            [sys.executable, "-m", "quadgen.probe", command, str(path)],
            env={
                "PATH": f"{self.bin}:/usr/bin:/bin",
                "PYTHONPATH": os.pathsep.join(sys.path),
                "HOME": str(self.folder),
                "XDG_STATE_HOME": str(self.folder / "state"),
                "XDG_RUNTIME_DIR": str(self.folder),
                "NOTIFY_SOCKET": str(self.folder / "notify"),
                "MAINPID": str(self.main.pid),
                "INVOCATION_ID": "aaa",
            }
            | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def notified(self) -> list[str]:
        messages = []
        while True:
            try:
                messages.append(self.notify.recv(10_000).decode())
            except BlockingIOError:
                return messages

    def wait_for(self, text: str) -> None:
        """Wait until systemd was told something."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if any(text in message for message in self.notified()):
                return
            time.sleep(0.02)
        pytest.fail(f"systemd was never told {text!r}")

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.main.kill()
        self.main.wait()
        self.notify.close()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    yield host
    host.close()


def served_at(url: str, **changes: Any) -> ProbeFile:
    file = probe_file(budgets=Budgets(startup_timeout=50, stall_timeout=40, interval=0.2, hang_timeout=2))
    return file._replace(server=Server(url=url, names=("qwen",), **changes))


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    text, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, text


def test_the_gate_waits_for_a_slow_start(host: Host) -> None:
    port = free_port()
    gate = host.start("gate", served_at(f"http://127.0.0.1:{port}"))
    host.wait_for("STATUS=starting the server")
    assert gate.poll() is None
    with serving(Behaviour(), address=("127.0.0.1", port)) as (_, behaviour):
        status, text = ended(gate)
    assert status == 0, text
    assert behaviour.asked == ["/health", "/v1/models", "/v1/completions"]
    assert "STATUS=serving qwen" in host.notified()
    assert host.state.last_start()["outcome"] == "serving"
    assert host.ran == []


def test_the_gate_fails_as_the_container_dies(host: Host) -> None:
    host.log("vllm: error: unrecognized arguments: --colour", "non-default args: {}")
    gate = host.start("gate", served_at(f"http://127.0.0.1:{free_port()}"))
    host.wait_for("STATUS=arguments accepted")
    host.main.kill()
    status, text = ended(gate)
    assert status == 1
    assert "unrecognized arguments: --colour" in text
    assert host.ran == ["systemctl --user stop --no-block -- vllm-a.service"], "no restart can help"
    assert host.state.last_start()["reason"]["kind"] == "option"


def test_a_stop_while_loading_ends_the_container_at_once(host: Host) -> None:
    gate = host.start("gate", served_at(f"http://127.0.0.1:{free_port()}"))
    host.wait_for("STATUS=")
    gate.send_signal(signal.SIGTERM)
    status, text = ended(gate)
    assert status == 0, text
    assert host.ran == ["podman kill --signal KILL vllm-a"]
    assert host.main.wait(PATIENCE) == -signal.SIGKILL


def test_a_stop_does_not_wait_for_a_hanging_warm_up(host: Host) -> None:
    with serving(Behaviour(delays={"/v1/completions": 20})) as ((_, port), behaviour):
        gate = host.start("gate", served_at(f"http://127.0.0.1:{port}"))
        host.wait_for("STATUS=warming up")
        gate.send_signal(signal.SIGTERM)
        assert ended(gate)[0] == 0
        assert "/v1/completions" in behaviour.asked
    assert host.ran == ["podman kill --signal KILL vllm-a"]


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [(Behaviour(names=("llama",)), "names"), (Behaviour(prefix="/v9"), "base-path")],
    ids=["other-names", "other-base-path"],
)
def test_a_wrong_server_ends_the_unit_for_good(host: Host, behaviour: Behaviour, kind: str) -> None:
    host.log("Application startup complete.")
    with serving(behaviour) as ((_, port), _):
        status, text = ended(host.start("gate", served_at(f"http://127.0.0.1:{port}")))
    assert status == 1
    assert host.state.last_start()["reason"]["kind"] == kind, text
    assert host.ran == [
        *("podman kill --signal KILL vllm-a", "systemctl --user stop --no-block -- vllm-a.service"),
    ]


def test_another_key_lets_the_start_through(host: Host) -> None:
    host.stand_in("podman", "echo wrong\n")
    with serving(Behaviour(key="right")) as ((_, port), _):
        file = served_at(f"http://127.0.0.1:{port}", api_key_secret="vllm-key")  # noqa: S106 - a name
        status, text = ended(host.start("gate", file))
    assert status == 0
    assert "the key differs" in text
    assert "wrong" not in text


def test_the_key_comes_from_the_secret(host: Host) -> None:
    host.stand_in("podman", f'echo "podman $*" >> {host.folder}/ran; echo right\n')
    with serving(Behaviour(key="right")) as ((_, port), _):
        file = served_at(f"http://127.0.0.1:{port}", api_key_secret="vllm-key")  # noqa: S106 - a name
        status, text = ended(host.start("gate", file))
    assert (status, "the key differs" in text) == (0, False), text
    assert host.ran == ["podman secret inspect --showsecret --format {{.SecretData}} vllm-key"]


def test_the_gate_knows_unix_sockets_and_tls(host: Host, tmp_path: Path) -> None:
    path = str(tmp_path / "vllm.sock")
    with serving(address=path, family=socket.AF_UNIX):
        status, text = ended(host.start("gate", served_at("http://localhost", uds=path)))
        assert status == 0, text
    cert = certificate(tmp_path)
    with serving(cert=cert) as ((_, port), _):
        status, text = ended(host.start("gate", served_at(f"https://127.0.0.1:{port}", tls_ca=str(cert))))
        assert status == 0, text


def test_a_gate_without_a_main_process_fails(host: Host) -> None:
    gate = host.start("gate", served_at("http://127.0.0.1:9"), MAINPID="")
    assert ended(gate)[0] == 1
    assert host.state.last_start()["reason"]["kind"] == "died"


def test_the_watch_ends_a_hung_server_and_is_told_to_stop(host: Host) -> None:
    behaviour = Behaviour(delays={"/v1/completions": 20})
    with serving(behaviour) as ((_, port), _):
        watch = host.start("watch", served_at(f"http://127.0.0.1:{port}"), WATCHDOG_USEC="9000000")
        host.wait_for("READY=1")
        assert host.main.wait(PATIENCE) == -signal.SIGKILL
        host.wait_for("STATUS=dead")
        watch.send_signal(signal.SIGTERM)
        status, text = ended(watch)
    assert status == 0
    assert "ending the container, hung: a one-token request and no token for" in text
    assert "podman kill --signal KILL vllm-a" in host.ran
    assert [kill["state"] for kill in host.state.watch()["kills"]] == ["hung"]
    assert "STOPPING=1" in host.notified()


def test_the_watch_leaves_a_good_server_alone_and_its_own_death_harms_nothing(host: Host) -> None:
    with serving() as ((_, port), behaviour):
        watch = host.start("watch", served_at(f"http://127.0.0.1:{port}"))
        host.wait_for("STATUS=serving")
        until = time.monotonic() + PATIENCE
        while behaviour.asked.count("/health") < 20 and time.monotonic() < until:
            time.sleep(0.05)
        watch.kill()
        ended(watch)
    assert host.main.poll() is None
    assert host.state.watch()["state"] == "serving"
    assert not any("podman" in line for line in host.ran)


def test_the_checks_take_the_gpus_lock_and_let_the_start_go_on(host: Host) -> None:
    file = served_at("http://127.0.0.1:9")._replace(needs=Needs(gpus=("0",)))
    status, text = ended(host.start("prestart", file))
    assert status == 0, text
    lock = json.loads((host.folder / "quadgen" / "gpu" / "0.lock").read_text())
    assert (lock["unit"], lock["invocation"]) == ("vllm-a.service", "aaa")
    assert host.state.last_start()["outcome"] == "loading"


def test_a_stop_ends_the_checks_without_a_failure(host: Host) -> None:
    late = Needs(devices=("/dev/not-there",))
    checks = host.start("prestart", served_at("http://127.0.0.1:9")._replace(needs=late))
    host.wait_for("STATUS=waiting for /dev/not-there")
    checks.send_signal(signal.SIGTERM)
    assert ended(checks)[0] == 0


def test_the_checks_refuse_a_start_that_cannot_succeed(host: Host) -> None:
    file = served_at("http://127.0.0.1:9")._replace(needs=Needs(binds=("/nowhere/models",)))
    # systemd ends what still runs of a unit that is stopped.
    host.stand_in("systemctl", f'echo "systemctl $*" >> {host.folder}/ran\nkill "$PPID"\n')
    status, text = ended(host.start("prestart", file))
    assert status == 1
    assert "/nowhere/models" in text
    assert host.ran == ["systemctl --user stop --no-block -- vllm-a.service"]


def test_the_recorder_writes_down_an_ending(host: Host) -> None:
    environ = {"SERVICE_RESULT": "exit-code", "EXIT_CODE": "exited", "EXIT_STATUS": "125"}
    status, text = ended(host.start("poststop", served_at("http://127.0.0.1:9"), **environ))
    assert status == 0, text
    record = host.state.last_start()
    assert (record["exit"], record["reason"]["kind"]) == ("exit-code (exited 125)", "podman")


def test_one_look_prints_json(host: Host) -> None:
    with serving() as ((_, port), _):
        status, text = ended(host.start("once", served_at(f"http://127.0.0.1:{port}")))
    assert status == 0, text
    assert json.loads(text)["state"] == "serving"


@pytest.mark.parametrize("words", [[], ["gate"], ["sing", "x.json"], ["gate", "x", "y"]], ids=repr)
def test_a_wrong_call_says_how_to_call(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "usage: python3 -m quadgen.probe prestart|gate|watch|poststop|once FILE" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_is_told_without_a_traceback(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "/nowhere/x.json"]) == (0 if command == "poststop" else 2)
    assert capsys.readouterr().err.startswith(f"quadgen {command}: /nowhere/x.json: No such file")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_defect_is_told_in_one_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(importlib.import_module(f"quadgen.probe.commands.{command}"), "run", fail)
    (tmp_path / "x.json").write_text(probe_file().to_json())
    assert main([command, str(tmp_path / "x.json")]) == (0 if command == "poststop" else 1)
    told = capsys.readouterr().err
    assert told.startswith(
        f"quadgen {command}: a defect in quadgen: ZeroDivisionError: division by zero (test_main.py:"
    )
    assert told.count("\n") == 1


HEAVY = {
    "click",
    "pydantic",
    "jinja2",
    "requests",
    "urllib3",
    "argparse",
    "asyncio",
    "dataclasses",
    "logging",
    "typing_extensions",
}
ALLOWED = {"quadgen", "quadgen.errors"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_only_what_it_needs(command: str) -> None:
    code = f"import sys, quadgen.probe.main, quadgen.probe.commands.{command}\nprint('\\n'.join(sys.modules))"
    environ = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert not loaded & HEAVY
    own = {name for name in loaded if name.startswith("quadgen") and not name.startswith("quadgen.probe")}
    assert own <= ALLOWED, "what is installed with the units is the probe and its errors"
    if command in {"prestart", "poststop"}:
        assert not loaded & {"ssl", "http.client"}
