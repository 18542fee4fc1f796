from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from probe_samples import probe_file

from quadgen.probe.doubles import FakeClock, FakeRunner
from quadgen.probe.journal import _COMMAND
from quadgen.probe.poststop import Ending, Recorder
from quadgen.probe.process import Completed, Systemd
from quadgen.probe.reasons import Reason
from quadgen.probe.state import ServiceState

if TYPE_CHECKING:
    from pathlib import Path


class Recording:
    def __init__(self, folder: Path, *log: str, kernel: tuple[str, ...] = ()) -> None:
        self.runner = FakeRunner(
            {
                "journalctl": entries(*log),
                " ".join([*_COMMAND, "--dmesg"]): entries(*kernel),
                "systemctl": Completed(status=0),
            }
        )
        self.state = ServiceState(folder, "vllm-a")
        self.said: list[str] = []

    def record(self, result: str, code: str = "", status: str = "") -> Reason | None:
        recorder = Recorder(
            probe_file(),
            self.state,
            runner=self.runner,
            systemd=Systemd(self.runner),
            clock=FakeClock(),
            say=self.said.append,
        )
        return recorder.record(Ending(invocation="aaa", result=result, code=code, status=status))

    @property
    def ended_for_good(self) -> bool:
        return self.runner.count("systemctl --user stop --no-block -- vllm-a.service") == 1


def entries(*texts: str) -> Completed:
    return Completed(status=0, stdout="".join(json.dumps({"MESSAGE": text}) + "\n" for text in texts))


@pytest.mark.parametrize(
    ("log", "ending", "kind", "permanent"),
    [
        ("", ("success", "exited", "0"), "ended-itself", False),
        ("ERROR: EngineDeadError: x", ("success", "exited", "0"), "engine-died", False),
        ("Error: unresolvable CDI devices nvidia.com/gpu=0", ("exit-code", "exited", "126"), "cdi", False),
        (
            'Error: no secret with name or id "x": no such secret',
            ("exit-code", "exited", "125"),
            "secret",
            True,
        ),
        ("vllm: error: unrecognized arguments: --x", ("exit-code", "exited", "2"), "option", True),
        ("", ("exit-code", "exited", "2"), "option", False),
        ("", ("exit-code", "exited", "125"), "podman", False),
        ("", ("exit-code", "exited", "137"), "killed", False),
        ("ValueError: odd", ("exit-code", "exited", "1"), "exit-1", False),
        ("", ("oom-kill", "killed", "KILL"), "host-memory", False),
        ("", ("timeout", "killed", "TERM"), "timeout", False),
        ("", ("exit-code", "exited", "77"), "exit-code", False),
        ("", ("resources", "", ""), "resources", False),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_each_ending_has_its_reason(
    tmp_path: Path,
    log: str,
    ending: tuple[str, str, str],
    kind: str | None,
    permanent: bool,
) -> None:
    recording = Recording(tmp_path, log)
    reason = recording.record(*ending)
    assert (reason.kind if reason else None) == kind
    record = recording.state.last_start()
    assert record["outcome"] == ("failed" if kind else "ended")
    assert record.get("reason", {}).get("kind") == kind
    assert recording.ended_for_good == permanent


def test_the_kernel_explains_a_kill_and_a_lost_card(tmp_path: Path) -> None:
    killed = Recording(tmp_path, kernel=("Memory cgroup out of memory: Killed process 7 (VLLM)",))
    reason = killed.record("exit-code", "exited", "137")
    assert reason is not None
    assert reason.kind == "host-memory"
    lost = Recording(
        tmp_path / "other",
        "RuntimeError: CUDA error: unspecified",
        kernel=("NVRM: Xid (PCI:0000:41:00): 79, x",),
    )
    reason = lost.record("exit-code", "exited", "1")
    assert reason is not None
    assert reason.kind == "gpu-lost"
    assert lost.ended_for_good


def test_what_gate_or_checks_found_out_stands(tmp_path: Path) -> None:
    recording = Recording(tmp_path, "RuntimeError: CUDA out of memory")
    reason = Reason(kind="names", what="it serves x, not y", permanent=True)
    recording.state.record_start("aaa", outcome="failed", reason=reason.to_json())
    assert recording.record("exit-code", "exited", "1") == reason


def test_a_death_that_the_gate_only_saw_is_explained_by_the_whole_log(tmp_path: Path) -> None:
    recording = Recording(tmp_path, "torch.OutOfMemoryError: CUDA out of memory.")
    seen = Reason(kind="died", what="the container ended while loading weights")
    recording.state.record_start("aaa", outcome="failed", reason=seen.to_json())
    reason = recording.record("exit-code", "exited", "1")
    assert reason is not None
    assert reason.kind == "gpu-memory"


@pytest.mark.parametrize(("result", "kind"), [("exit-code", None), ("success", None), ("timeout", "killed")])
def test_a_stop_while_loading_is_wanted_unless_systemd_lost_patience(
    tmp_path: Path, result: str, kind: str | None
) -> None:
    recording = Recording(tmp_path)
    stopped = Reason(kind="stopped", what="stopped while loading")
    recording.state.record_start("aaa", reason=stopped.to_json())
    reason = recording.record(result, "exited", "137")
    assert (reason.kind if reason else None) == kind


@pytest.mark.parametrize(
    ("job", "result", "kind"),
    [
        ("7 vllm-a.service stop running", "exit-code", None),
        ("7 vllm-a.service restart running", "exit-code", None),
        ("7 vllm-a.service start running", "exit-code", "killed"),
        ("7 vllm-a.service stop running", "timeout", "killed"),
        ("", "exit-code", "killed"),
        (None, "exit-code", "killed"),
        (None, "success", None),
    ],
    ids=["stop", "restart", "start", "stop-too-late", "no-job", "no-bus", "no-bus-success"],
)
def test_a_stop_that_was_asked_for_is_no_failure_whatever_its_status(
    tmp_path: Path, job: str | None, result: str, kind: str | None
) -> None:
    recording = Recording(tmp_path)
    answer = Completed(status=1) if job is None else Completed(status=0, stdout=job + "\n")
    recording.runner.answers["systemctl --user list-jobs"] = answer
    reason = recording.record(result, "exited", "137")
    assert (reason.kind if reason else None) == kind


@pytest.mark.parametrize(
    ("job", "ends"), [("start", True), ("", True), ("stop", False), ("restart", False)], ids=str
)
def test_a_unit_is_ended_for_good_only_where_nobody_stops_it_or_wants_it_anew(
    tmp_path: Path, job: str, ends: bool
) -> None:
    recording = Recording(tmp_path)
    reason = Reason(kind="names", what="it serves x, not y", permanent=True)
    recording.state.record_start("aaa", outcome="failed", reason=reason.to_json())
    text = f"7 vllm-a.service {job} running\n" if job else ""
    recording.runner.answers["systemctl --user list-jobs"] = Completed(status=0, stdout=text)
    assert recording.record("exit-code", "exited", "1") == reason
    assert recording.ended_for_good == ends


def test_a_container_that_the_watch_ended_is_recorded_so(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    kill = {"at": 1.0, "state": "hung", "evidence": "1 requests and no token for 2m00s", "invocation": "aaa"}
    recording.state.record_watch({"kills": [kill]})
    reason = recording.record("exit-code", "exited", "137")
    assert reason is not None
    assert (reason.kind, reason.line) == ("hung", "1 requests and no token for 2m00s")
    assert not recording.ended_for_good


def test_systemds_variables_are_read() -> None:
    environ = {"INVOCATION_ID": "x", "SERVICE_RESULT": "signal", "EXIT_CODE": "killed", "EXIT_STATUS": "KILL"}
    ending = Ending.of(environ)
    assert ending.words() == "signal (killed KILL)"
    assert ending.number is None
    assert Ending.of({}).words() == ""
