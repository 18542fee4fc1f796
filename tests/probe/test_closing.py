from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from probe_samples import probe_file

from quadgen.probe.closing import Closing
from quadgen.probe.doubles import FakeClock, FakeRunner
from quadgen.probe.gate import Outcome
from quadgen.probe.gpulock import GpuLocks, Holder
from quadgen.probe.probefile import Needs
from quadgen.probe.process import Completed, Container, Systemd
from quadgen.probe.reasons import Reason
from quadgen.probe.state import ServiceState

if TYPE_CHECKING:
    from pathlib import Path

KILL = "podman kill --signal KILL vllm-a"
STOP = "systemctl --user stop --no-block -- vllm-a.service"
PERMANENT = Reason(kind="names", what="it serves x", permanent=True)
PASSING = Reason(kind="gpu-memory", what="out of GPU memory")


def closing(folder: Path) -> tuple[Closing, FakeRunner]:
    runner = FakeRunner({"podman kill": Completed(status=0), "systemctl": Completed(status=0)})
    subject = Closing(
        file=probe_file(needs=Needs(gpus=("0",))),
        invocation="aaa",
        state=ServiceState(folder, "vllm-a"),
        container=Container("vllm-a", runner),
        systemd=Systemd(runner),
        locks=GpuLocks(folder / "gpu", Systemd(runner)),
        clock=FakeClock(),
        say=lambda _: None,
    )
    return subject, runner


@pytest.mark.parametrize(
    ("outcome", "status", "ran", "recorded"),
    [
        (Outcome(), 0, [], "serving"),
        (Outcome(reason=PASSING, died=True), 1, [], "failed"),
        (Outcome(reason=PASSING), 1, [KILL], "failed"),
        (Outcome(reason=PERMANENT), 1, [KILL, STOP], "failed"),
        (Outcome(reason=PERMANENT, died=True), 1, [STOP], "failed"),
        (Outcome(reason=Reason(kind="stopped", what="stopped"), stopped=True), 0, [KILL], "ended"),
    ],
    ids=["serves", "died", "stalled", "permanent", "permanent-death", "stopped"],
)
def test_a_gates_conclusion_is_put_into_effect(
    tmp_path: Path, outcome: Outcome, status: int, ran: list[str], recorded: str
) -> None:
    subject, runner = closing(tmp_path)
    subject.begin()
    assert subject.after_gate(outcome) == status
    assert runner.ran == ran
    record = subject.state.last_start()
    assert record["outcome"] == recorded
    assert record["invocation"] == "aaa"
    assert record.get("reason") == (outcome.reason.to_json() if outcome.reason else None)


def test_a_model_that_serves_gives_its_gpus_lock_back(tmp_path: Path) -> None:
    subject, _ = closing(tmp_path)
    subject.locks.take(["0"], Holder(unit="vllm-a.service", invocation="aaa", since=0))
    subject.after_gate(Outcome())
    assert [p.name for p in (tmp_path / "gpu").iterdir()] == ["guard"]


@pytest.mark.parametrize(
    ("reason", "status", "ran"),
    [(None, 0, []), (PASSING, 1, []), (PERMANENT, 1, [STOP])],
    ids=["well", "fails", "for-good"],
)
def test_the_checks_conclusion_is_put_into_effect(
    tmp_path: Path, reason: Reason | None, status: int, ran: list[str]
) -> None:
    subject, runner = closing(tmp_path)
    subject.begin()
    assert subject.after_checks(reason) == status
    assert runner.ran == ran
    assert subject.state.last_start()["outcome"] == ("loading" if reason is None else "failed")
