from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quadgen.probe.doubles import FakeRunner
from quadgen.probe.gpulock import GpuLocks, Holder, overlap, with_uuids
from quadgen.probe.process import Completed, Systemd

if TYPE_CHECKING:
    from pathlib import Path

A = Holder(unit="vllm-a.service", invocation="aaa", since=1.0)
B = Holder(unit="vllm-b.service", invocation="bbb", since=2.0)


def shown(active: str, sub: str, invocation: str = "aaa") -> Completed:
    return Completed(status=0, stdout=f"ActiveState={active}\nSubState={sub}\nInvocationID={invocation}\n")


def locks(folder: Path, answer: Completed) -> GpuLocks:
    return GpuLocks(folder / "gpu", Systemd(FakeRunner({"systemctl --user show": answer})))


@pytest.mark.parametrize(
    ("state", "holds"),
    [
        (shown("activating", "start-pre"), True),
        (shown("activating", "start"), True),
        (shown("activating", "start-post"), True),
        (shown("deactivating", "stop-sigkill"), True),
        (shown("deactivating", "stop-post"), True),
        (shown("active", "running"), False),
        (shown("failed", "failed"), False),
        (shown("inactive", "dead"), False),
        (shown("activating", "auto-restart"), False),
        (shown("activating", "start-pre", "another"), False),
        (Completed(status=1), True),
        (Completed(status=124), True),
    ],
    ids=[
        *("checks", "container", "gate", "killing", "recording", "serving", "failed", "stopped"),
        *("waits-for-its-next-attempt", "a-later-run", "no-bus", "bus-hangs"),
    ],
)
def test_a_lock_holds_as_long_as_systemd_says_that_its_run_loads(
    tmp_path: Path,
    state: Completed,
    holds: bool,
) -> None:
    subject = locks(tmp_path, state)
    assert subject.take(["0"], A) is None
    assert subject.take(["0"], B) == (("0", A) if holds else None)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("0", "0", True),
        ("0", "1", False),
        ("all", "3", True),
        ("0", "0:1", True),
        ("0:1", "0:1", True),
        ("0:1", "0:2", False),
        ("GPU-a", "GPU-b", False),
        ("GPU-a", "all", True),
        ("10", "1", False),
    ],
)
def test_ids_of_the_same_silicon_overlap(one: str, other: str, expected: bool) -> None:
    assert overlap(one, other) is expected
    assert overlap(other, one) is expected


def test_all_gpus_are_taken_or_none(tmp_path: Path) -> None:
    subject = locks(tmp_path, shown("activating", "start-post"))
    assert subject.take(["1"], A) is None
    assert subject.take(["0", "1"], B) == ("1", A)
    assert subject.take(["0"], Holder(unit="vllm-c.service", invocation="ccc", since=3.0)) is None


def test_a_new_run_of_the_same_unit_takes_over_its_own_lock(tmp_path: Path) -> None:
    subject = locks(tmp_path, shown("activating", "start-pre"))
    assert subject.take(["0"], A) is None
    assert subject.take(["0"], Holder(unit=A.unit, invocation="later", since=9.0)) is None


def test_a_dropped_lock_is_free(tmp_path: Path) -> None:
    subject = locks(tmp_path, shown("activating", "start-post"))
    subject.take(["0", "1"], A)
    subject.drop(A.unit)
    assert subject.take(["0", "1"], B) is None


def test_a_damaged_lock_file_holds_nothing(tmp_path: Path) -> None:
    subject = locks(tmp_path, shown("activating", "start-post"))
    subject.take(["0"], A)
    (tmp_path / "gpu" / "0.lock").write_text("{")
    assert subject.take(["0"], B) is None


def test_an_id_is_never_a_path(tmp_path: Path) -> None:
    locks(tmp_path, shown("activating", "start")).take(["../../x", "nvidia.com/gpu=0"], A)
    assert sorted(p.name for p in (tmp_path / "gpu").iterdir()) == [
        *(".._.._x.lock", "guard", "nvidia.com_gpu_0.lock"),
    ]


def test_an_index_becomes_its_cards_uuid() -> None:
    runner = FakeRunner({"nvidia-smi": Completed(status=0, stdout="0, GPU-aa\n1, GPU-bb\n")})
    assert with_uuids(runner, ["1", "0:2", "GPU-cc", "all"]) == ["GPU-bb", "GPU-aa:2", "GPU-cc", "all"]
    assert with_uuids(FakeRunner(), ["1", "all"]) == ["1", "all"]
