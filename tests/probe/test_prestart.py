from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from probe_samples import probe_file

from quadgen.probe.devices import absent
from quadgen.probe.doubles import FakeClock, FakeNotifier, FakeRunner, FakeWaiter
from quadgen.probe.gpulock import GpuLocks, Holder
from quadgen.probe.prestart import Prestart, Tools
from quadgen.probe.probefile import Budgets, Needs, ProbeFile, Server
from quadgen.probe.process import Completed, Systemd

if TYPE_CHECKING:
    from pathlib import Path

    from quadgen.probe.reasons import Reason


class Checks:
    def __init__(self, folder: Path, file: ProbeFile, **answers: Any) -> None:
        self.runner = FakeRunner({key.replace("_", " "): value for key, value in answers.items()})
        self.clock = FakeClock()
        self.waiter = FakeWaiter(self.clock)
        self.notifier = FakeNotifier()
        self.said: list[str] = []
        self.locks = GpuLocks(folder / "gpu", Systemd(self.runner))
        self.file = file

    def run(self) -> Reason | None:
        tools = Tools(
            runner=self.runner,
            locks=self.locks,
            waiter=self.waiter,
            clock=self.clock,
            notifier=self.notifier,
            say=self.said.append,
        )
        return Prestart(self.file, "aaa", tools).run()


def needing(**needs: Any) -> ProbeFile:
    return probe_file(needs=Needs(**needs))


def test_a_service_that_needs_nothing_starts_no_process(tmp_path: Path) -> None:
    checks = Checks(tmp_path, probe_file())
    assert checks.run() is None
    assert checks.runner.ran == []


def test_a_missing_bind_source_is_named(tmp_path: Path) -> None:
    reason = Checks(tmp_path, needing(binds=(str(tmp_path), str(tmp_path / "gone")))).run()
    assert reason is not None
    assert reason.kind == "bind-source"
    assert str(tmp_path / "gone") in reason.what
    assert reason.permanent


@pytest.mark.parametrize(
    ("listed", "kind"),
    [
        (Completed(status=0, stdout="hf-token\nkey\n"), None),
        (Completed(status=0, stdout="key\n"), "secret"),
        (Completed(status=0, stdout=""), "secret"),
        (Completed(status=125, stderr="Error: x"), None),
        (Completed(status=124), None),
    ],
    ids=["there", "one-missing", "none", "podman-fails", "podman-hangs"],
)
def test_a_missing_secret_is_named(tmp_path: Path, listed: Completed, kind: str | None) -> None:
    reason = Checks(tmp_path, needing(secrets=("hf-token", "key")), podman_secret_ls=listed).run()
    assert (reason.kind if reason else None) == kind
    if reason is not None:
        assert "hf-token" in reason.what
        assert "podman secret create" in reason.remedy
        assert reason.permanent


@pytest.mark.parametrize(
    ("pull", "status", "kind"),
    [("never", 0, None), ("never", 1, "image"), ("never", 125, None), ("missing", 1, None)],
)
def test_a_missing_image_counts_where_nothing_may_be_pulled(
    tmp_path: Path, pull: Any, status: int, kind: str | None
) -> None:
    file = needing(image="localhost/vllm:1", pull=pull)
    reason = Checks(tmp_path, file, podman_image_exists=Completed(status=status)).run()
    assert (reason.kind if reason else None) == kind


def test_a_stale_socket_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "vllm.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
    checks = Checks(tmp_path, probe_file(server=Server(url="http://localhost", uds=str(path))))
    assert checks.run() is None
    assert not path.exists()
    assert checks.said == [f"removed the stale socket {path}"]


def test_a_socket_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "vllm.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
        sock.listen()
        reason = Checks(tmp_path, probe_file(server=Server(url="http://localhost", uds=str(path)))).run()
    assert reason is not None
    assert reason.kind == "socket"
    assert path.exists()


def test_a_file_in_the_sockets_place_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "vllm.sock"
    path.write_text("mine")
    reason = Checks(tmp_path, probe_file(server=Server(url="http://localhost", uds=str(path)))).run()
    assert reason is not None
    assert reason.permanent
    assert path.read_text() == "mine"


CDI_YAML = """\
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
- name: GPU-aa-bb
- name: all
"""
CDI_JSON = '{"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","devices":[{"name":"0"},{"name":"1:0"}]}'


@pytest.mark.parametrize(
    ("spec", "device", "there"),
    [
        ("a.yaml", "nvidia.com/gpu=0", True),
        ("a.yaml", "nvidia.com/gpu=all", True),
        ("a.yaml", "nvidia.com/gpu=GPU-aa-bb", True),
        ("a.yaml", "nvidia.com/gpu=1", False),
        ("a.yaml", "amd.com/gpu=0", False),
        ("a.json", "nvidia.com/gpu=0", True),
        ("a.json", "nvidia.com/gpu=1:0", True),
        ("a.json", "nvidia.com/gpu=1", False),
        ("a.txt", "nvidia.com/gpu=0", False),
    ],
)
def test_cdi_names_are_found_in_specs(tmp_path: Path, spec: str, device: str, there: bool) -> None:
    (tmp_path / spec).write_text(CDI_JSON if spec.endswith("json") else CDI_YAML)
    assert absent([device], ["/nowhere", str(tmp_path)]) == ([] if there else [device])


def test_device_paths_are_looked_for() -> None:
    assert absent(["/dev/null", "/dev/null:/dev/x:rw", "/dev/gone"], []) == ["/dev/gone"]


def test_late_devices_are_waited_for_and_told(tmp_path: Path) -> None:
    checks = Checks(tmp_path, needing(devices=("nvidia.com/gpu=0",), cdi_dirs=(str(tmp_path),)))
    checks.waiter.at(12, "log", lambda: (tmp_path / "nvidia.yaml").write_text(CDI_YAML) and None)
    assert checks.run() is None
    assert 12 <= checks.clock.now - 1000 <= 14
    assert checks.said == ["waiting for nvidia.com/gpu=0"]
    assert "EXTEND_TIMEOUT_USEC" in checks.notifier.sent[0]


def test_devices_that_never_come_fail_the_start_when_patience_ends(tmp_path: Path) -> None:
    checks = Checks(tmp_path, needing(devices=("nvidia.com/gpu=0",), cdi_dirs=(str(tmp_path),)))
    reason = checks.run()
    assert reason is not None
    assert reason.kind == "cdi"
    assert not reason.permanent, "the specs may be made a little later"
    assert 30 <= checks.clock.now - 1000 <= 32


LOADING = Completed(status=0, stdout="ActiveState=activating\nSubState=start-post\nInvocationID=bbb\n")
SERVING = Completed(status=0, stdout="ActiveState=active\nSubState=running\nInvocationID=bbb\n")


def test_a_gpu_onto_which_another_loads_is_waited_for_and_its_holder_told(tmp_path: Path) -> None:
    checks = Checks(tmp_path, needing(gpus=("0",)), systemctl=[LOADING] * 5 + [SERVING])
    checks.locks.take(["0"], Holder(unit="vllm-b.service", invocation="bbb", since=0))
    assert checks.run() is None
    assert checks.said == ["waiting, vllm-b.service is loading onto GPU 0"]
    assert checks.notifier.statuses[0] == "waiting, vllm-b.service is loading onto GPU 0"


def test_a_gpu_that_stays_locked_fails_the_start_and_is_never_taken(tmp_path: Path) -> None:
    file = probe_file(needs=Needs(gpus=("0",)), budgets=Budgets(startup_timeout=50, wait_timeout=5))
    checks = Checks(tmp_path, file, systemctl=LOADING)
    checks.locks.take(["0"], Holder(unit="vllm-b.service", invocation="bbb", since=0))
    reason = checks.run()
    assert reason is not None
    assert reason.kind == "gpu-lock"
    assert "vllm-b.service" in reason.what
    assert not reason.permanent


def memory(*used: int) -> list[Completed]:
    return [
        Completed(status=0, stdout=f"0, GPU-aa, 24000, {u}, {24000 - u}\n1, GPU-bb, 24000, 9, 9\n")
        for u in used
    ]


UUIDS = Completed(status=0, stdout="0, GPU-aa\n1, GPU-bb\n")
APPS = Completed(status=0, stdout="GPU-aa, 1, 20000, /usr/bin/python3\nGPU-bb, 2, 1, other\n")


def with_memory(tmp_path: Path, *used: int, share: float | None = 0.9) -> Checks:
    checks = Checks(tmp_path, needing(gpus=("0",), gpu_memory=share))
    checks.runner.answers = {
        "nvidia-smi --query-gpu=index,uuid --": UUIDS,
        "nvidia-smi --query-gpu=index,uuid,memory": memory(*used),
        "nvidia-smi --query-compute": APPS,
    }
    return checks


def test_free_and_steady_memory_is_no_reason_to_wait(tmp_path: Path) -> None:
    checks = with_memory(tmp_path, 300)
    assert checks.run() is None
    assert checks.clock.now - 1000 <= 3


def test_memory_that_is_being_given_back_is_waited_for(tmp_path: Path) -> None:
    checks = with_memory(tmp_path, 20000, 12000, 5000, 800, 300)
    assert checks.run() is None
    assert "held by python3 (pid 1" in checks.said[0]
    assert len(checks.said) == 1 or "still changing" in checks.said[1]


def test_memory_that_stays_taken_fails_the_start_and_says_who_has_it(tmp_path: Path) -> None:
    reason = with_memory(tmp_path, 20000).run()
    assert reason is not None
    assert reason.kind == "gpu-memory-taken"
    assert "GPU 0 has 4000 MiB free, 17600 MiB too few; held by python3 (pid 1" in reason.what
    assert "20000 MiB" in reason.what


def test_without_a_share_only_steadiness_is_waited_for(tmp_path: Path) -> None:
    assert with_memory(tmp_path, 20000, share=None).run() is None


@pytest.mark.parametrize(
    "answer",
    [
        Completed(status=127, stderr="x"),
        Completed(status=0, stdout="0, GPU-aa, [N/A], [N/A], [N/A]\n"),
        Completed(status=9),
    ],
    ids=["no-nvidia-smi", "shared-memory", "no-driver"],
)
def test_where_memory_is_not_known_it_is_not_waited_for(tmp_path: Path, answer: Completed) -> None:
    checks = Checks(tmp_path, needing(gpus=("0",), gpu_memory=0.9))
    checks.runner.answers = {"nvidia-smi": answer}
    assert checks.run() is None
