from __future__ import annotations

from pathlib import Path

import pytest

from quadgen.probe.state import ServiceState, folder


@pytest.fixture
def state(tmp_path: Path) -> ServiceState:
    return ServiceState(tmp_path, "vllm-a")


def test_nothing_is_known_before_the_first_start(state: ServiceState) -> None:
    assert state.starts() == []
    assert state.last_start() == {}
    assert state.watch() == {}


def test_facts_of_one_start_gather_in_one_record(state: ServiceState) -> None:
    state.record_start("a", began=1.0, outcome="loading")
    state.record_start("b", began=2.0, outcome="loading")
    state.record_start("a", outcome="failed", reason={"kind": "option"})
    assert state.starts()[0] == {
        "invocation": "a",
        "began": 1.0,
        "outcome": "failed",
        "reason": {"kind": "option"},
    }
    assert state.last_start()["invocation"] == "b"


def test_it_is_bounded(state: ServiceState) -> None:
    for number in range(50):
        state.record_start(str(number))
    state.record_watch(
        {"verdicts": [{"at": i} for i in range(500)], "kills": [{"at": i} for i in range(500)]}
    )
    assert [row["invocation"] for row in state.starts()] == [str(n) for n in range(30, 50)]
    assert len(state.watch()["verdicts"]) == 50
    assert len(state.watch()["kills"]) == 20
    assert state.watch()["kills"][-1] == {"at": 499}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"starts": 1}', '{"starts": [1, {"invocation": "x"}]}', "\0"]
)
def test_a_damaged_file_is_as_good_as_none(state: ServiceState, text: str) -> None:
    state.record_start("a")
    (state.folder / "vllm-a" / "start.json").write_text(text)
    assert state.last_start().get("invocation", "x") == "x"
    state.record_start("b")
    assert state.last_start() == {"invocation": "b"}


def test_no_draft_is_left_behind(state: ServiceState) -> None:
    state.record_start("a")
    state.record_watch({})
    assert sorted(p.name for p in (state.folder / "vllm-a").iterdir()) == ["start.json", "watch.json"]


def test_a_folder_that_cannot_be_written_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    state = ServiceState(tmp_path / "file", "vllm-a")
    assert state.record_start("a", outcome="loading")["outcome"] == "loading"
    assert state.starts() == []


def test_it_is_forgotten_whole(state: ServiceState) -> None:
    state.record_start("a")
    state.record_watch({})
    state.forget()
    state.forget()
    assert list(state.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/quadgen/probe"),
        ({"HOME": "/h"}, "/h/.local/state/quadgen/probe"),
        ({"XDG_STATE_HOME": "", "HOME": "/h"}, "/h/.local/state/quadgen/probe"),
    ],
    ids=["xdg", "home", "empty"],
)
def test_the_folder_follows_the_environment(environ: dict[str, str], expected: str) -> None:
    assert folder(environ) == Path(expected)
