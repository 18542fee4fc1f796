from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quadgen.probe.client import Answer
from quadgen.probe.clock import span
from quadgen.probe.doubles import FakeRunner
from quadgen.probe.notify import SystemdNotifier, extend, status
from quadgen.probe.process import Completed, Container, Systemd, SystemRunner, UnitState, children, tree
from quadgen.probe.progress import ProcessTraffic, Traffic, disk_bytes, moved, received, size
from quadgen.probe.waiting import PollWaiter, StopSignal, ThreadExchange, process_fd


@pytest.mark.parametrize(
    ("argv", "status", "out"),
    [
        (["sh", "-c", "echo out; echo err >&2; exit 3"], 3, "out\n"),
        (["/nowhere/program"], 127, ""),
        (["/etc/passwd"], 126, ""),
        (["sleep", "60"], 124, ""),
        (["printf", "\\377"], 0, "\ufffd"),
    ],
    ids=["status", "missing", "not-executable", "too-long", "no-utf-8"],
)
def test_a_program_is_run_to_its_end_and_never_raises(argv: list[str], status: int, out: str) -> None:
    done = SystemRunner().run(argv, timeout=0.5 if status == 124 else 20)
    assert (done.status, done.stdout) == (status, out)
    assert done.missing == (status == 127)


SHOWN = (
    "ActiveState=activating\nSubState=start-post\nInvocationID=aa\nMainPID=7\nNRestarts=2\nResult=success\n"
)


@pytest.mark.parametrize(
    ("done", "state"),
    [
        (
            Completed(status=0, stdout=SHOWN),
            UnitState(
                active="activating",
                sub="start-post",
                invocation="aa",
                main_pid=7,
                restarts=2,
                result="success",
            ),
        ),
        (Completed(status=0, stdout="MainPID=[not set]\n"), UnitState()),
        (Completed(status=1, stderr="Failed to connect to bus"), UnitState()),
    ],
    ids=["shown", "odd", "no-bus"],
)
def test_systemd_is_asked_for_a_unit(done: Completed, state: UnitState) -> None:
    assert Systemd(FakeRunner({"systemctl --user show": done})).state("a.service") == state


@pytest.fixture
def family() -> subprocess.Popen[bytes]:
    """A process with a child and a grandchild, as conmon has."""
    inner = "import subprocess,sys; subprocess.run(['sleep','60'])"
    outer = f"import subprocess,sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    process = subprocess.Popen([sys.executable, "-c", outer])
    until = time.monotonic() + 20
    while len(list(tree(process.pid))) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    yield process  # type: ignore[misc]
    for pid in [*tree(process.pid), process.pid]:
        os.kill(pid, signal.SIGKILL)
    process.wait()


def test_descendants_are_found(family: subprocess.Popen[bytes]) -> None:
    assert len(children(family.pid)) == 1
    assert len(list(tree(family.pid))) == 2
    assert children(0) == []
    assert children(2**22 + 1) == []


def test_a_container_is_ended_by_podman() -> None:
    runner = FakeRunner({"podman kill": Completed(status=0)})
    assert Container("vllm-a", runner).kill() == "ended by podman kill"
    assert runner.ran == ["podman kill --signal KILL vllm-a"]


def test_where_podman_fails_the_containers_process_is_killed_and_not_its_parent(
    family: subprocess.Popen[bytes],
) -> None:
    (child,) = children(family.pid)
    fd = process_fd(child)
    assert fd is not None
    said = Container("vllm-a", FakeRunner(), family.pid).kill()
    assert "podman kill failed (podman: not installed)" in said
    waiter = PollWaiter()
    waiter.add(fd, "died")
    assert waiter.wait(20) == {"died"}
    os.close(fd)


def test_a_death_wakes_the_waiter() -> None:
    process = subprocess.Popen(["/bin/sleep", "60"])
    fd = process_fd(process.pid)
    assert fd is not None
    waiter = PollWaiter()
    waiter.add(fd, "died")
    assert waiter.wait(0) == frozenset()
    process.kill()
    assert waiter.wait(20) == {"died"}
    process.wait()
    waiter.remove(fd)
    waiter.remove(fd)
    assert waiter.wait(0) == frozenset()
    os.close(fd)


def test_a_process_that_is_gone_has_no_descriptor() -> None:
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    assert process_fd(process.pid) is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signal_wakes_the_waiter_and_ends_nothing(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    stop, waiter = StopSignal(), PollWaiter()
    waiter.add(stop.fileno(), "stop")
    try:
        os.kill(os.getpid(), number)
        assert waiter.wait(20) == {"stop"}
        assert waiter.wait(0) == {"stop"}, "it stays so"
    finally:
        stop.close()
    assert signal.getsignal(number) is before


def test_questions_are_asked_one_after_the_other_beside_the_waiting() -> None:
    exchange, waiter = ThreadExchange(), PollWaiter()
    waiter.add(exchange.fileno(), "answer")
    assert exchange.take() is None
    for status_ in (200, 404):
        exchange.ask(lambda status_=status_: Answer(kind="ok", status=status_))  # type: ignore[misc]
        assert waiter.wait(20) == {"answer"}
        answer = exchange.take()
        assert answer is not None
        assert answer.status == status_
        assert waiter.wait(0) == frozenset()


def test_messages_reach_systemd_in_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        notifier = SystemdNotifier()
        notifier.send(status("serving größe\nX=1"))
        notifier.send(extend(60))
        assert manager.recv(1000).decode() == "STATUS=serving größe X=1"
        assert manager.recv(1000) == b"EXTEND_TIMEOUT_USEC=60000000"
        assert notifier._notifier is not None
        notifier._notifier.socket.close()


def test_without_a_manager_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    SystemdNotifier().send("READY=1")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.9, "0s"), (59.9, "59s"), (60, "1m00s"), (72, "1m12s"), (3600, "1h00m"), (7500, "2h05m")],
)
def test_times_are_written_as_people_do(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("now", "word"),
    [
        (Traffic(), ""),
        (Traffic(network=100_000), ""),
        (Traffic(network=200_000), "receiving"),
        (Traffic(caches=1 << 20), "caches grow"),
        (Traffic(disk=1 << 20), "disk"),
        (Traffic(caches=-5_000_000), ""),
    ],
    ids=["nothing", "the-gates-own", "download", "caches", "disk", "cache-cleaned"],
)
def test_what_moves_enough_is_progress(now: Traffic, word: str) -> None:
    text = moved(Traffic(), now, 10)
    assert text.startswith(word)
    assert bool(text) == bool(word)


def test_bytes_of_processes_and_caches_are_measured(tmp_path: Path, family: subprocess.Popen[bytes]) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "a.incomplete").write_bytes(b"x" * 100_000)
    (tmp_path / "snapshot").symlink_to(tmp_path / "blobs")
    before = ProcessTraffic(family.pid, [str(tmp_path)]).measure()
    assert 100_000 <= before.caches < 200_000, "what a link names is not counted twice"
    assert before.network == 0, "its network is the test's own"
    (tmp_path / "blobs" / "b").write_bytes(b"x" * 2_000_000)
    assert moved(before, ProcessTraffic(family.pid, [str(tmp_path)]).measure(), 10).startswith("caches grow")


def test_what_cannot_be_measured_is_0() -> None:
    assert size(Path("/nowhere")) == 0
    assert disk_bytes(2**22 + 1) == 0
    assert received(2**22 + 1) == 0
    assert received(os.getpid()) >= 0
    assert ProcessTraffic(0, []).measure() == Traffic()
