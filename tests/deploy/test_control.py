from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from quadgen.deploy.control import Following, Progress, commands, order
from quadgen.deploy.live import LiveUnit, live_units
from quadgen.errors import HostError
from quadgen.host.run import Completed, FakeRunner
from quadgen.probe.doubles import FakeClock

from .served import FAILED, LOADING, MEMORY, MISSING, PAUSING, RUNNING, Home, blocks

if TYPE_CHECKING:
    from pathlib import Path

    from quadgen.deploy.control import Verb

RESET = "systemctl --user reset-failed --"
RUN1 = {"InvocationID": "run1"}
LOG = "starting\nquadgen gate: its own words\nError: statfs /srv/models: no such file or directory\n\n"


def units(**fields: dict[str, str]) -> dict[str, LiveUnit]:
    names = [f"{name}.service" for name in fields]
    return live_units(FakeRunner({"systemctl": blocks(*fields.values())}), names)


@pytest.mark.parametrize(
    ("verb", "fields", "lines"),
    [
        ("start", {"a": {}, "b": FAILED}, [f"{RESET} a.service b.service", "start a.service b.service"]),
        ("start", {"a": RUNNING}, ["start a.service"]),
        ("start", {"a": RUNNING, "b": {}}, [f"{RESET} b.service", "start a.service b.service"]),
        (
            "start",
            {"a": PAUSING, "b": {}},
            [f"{RESET} a.service b.service", "restart a.service", "start b.service"],
        ),
        ("restart", {"a": RUNNING, "b": {}}, [f"{RESET} a.service b.service", "restart a.service b.service"]),
        ("stop", {"a": RUNNING, "b": {}, "c": PAUSING}, ["stop a.service c.service"]),
        ("stop", {"a": FAILED}, []),
    ],
    ids=["down", "up", "mixed", "pausing", "restart", "stop", "stop what is down"],
)
def test_systemd_gets_these_command_lines(
    verb: Verb, fields: dict[str, dict[str, str]], lines: list[str]
) -> None:
    told = [" ".join(argv) for argv in commands(verb, units(**fields))]
    wanted = [line if line.startswith(RESET) else _no_block(line) for line in lines]
    assert told == wanted


def _no_block(line: str) -> str:
    verb, _, names = line.partition(" ")
    return f"systemctl --user {verb} --no-block -- {names}"


def test_a_unit_that_has_no_failure_to_forget_is_no_error() -> None:
    runner = FakeRunner({RESET: Completed((), 1, "", "not loaded"), "systemctl --user start": ""})
    order(runner, "start", units(a={}))
    assert [call[2] for call in runner.calls] == ["reset-failed", "start"]


def test_what_systemd_refuses_is_an_error() -> None:
    runner = FakeRunner(
        {RESET: "", "systemctl --user start": Completed((), 1, "", "Unit a.service is masked.")}
    )
    with pytest.raises(HostError, match="masked"):
        order(runner, "start", units(a={}))


@dataclass
class Followed:
    """One service `a` that is followed, and what systemd says of it next."""

    home: Home
    following: Following
    answers: dict[str, Any]
    clock: FakeClock

    def look(self, fields: dict[str, str], *, after: float = 5) -> Progress:
        self.answers["systemctl --user show"] = blocks(fields)
        self.clock.now += after
        return self.following.look()[0]


def follow(tmp_path: Path, verb: Verb, before: dict[str, str] | None = None) -> Followed:
    home, clock = Home(tmp_path), FakeClock()
    answers: dict[str, Any] = {"journalctl": LOG}
    following = Following(
        FakeRunner(answers),
        home.state,
        verb,
        {"a": units(a=RUN1 | (before or {}))["a.service"]},
        monotonic=clock.monotonic,
        now=clock.time,
    )
    return Followed(home, following, answers, clock)


def failed(clock: FakeClock, **changes: Any) -> dict[str, Any]:
    given = {"invocation": "run2", "began": clock.time() - 4, "ended": clock.time(), "outcome": "failed"}
    return given | {"reason": MEMORY} | changes


def test_a_start_is_followed_until_the_model_answers(tmp_path: Path) -> None:
    followed = follow(tmp_path, "start")
    texts = [
        followed.look(fields).text
        for fields in (
            {"Job": "7"},
            LOADING | {"SubState": "start-pre", "StatusText": ""},
            LOADING | {"SubState": "start", "StatusText": ""},
            LOADING,
        )
    ]
    assert texts == [
        "waiting for other units, 5s",
        "checking what it needs, 10s",
        "starting the container, 15s",
        "loading weights 42 % (8/19), 1m12s",
    ]
    assert not followed.following.done
    phases = {"weights": 60.1}
    followed.home.history("a", {"invocation": "run2", "began": followed.clock.time(), "phases": phases})
    end = followed.look(RUNNING)
    assert (end.text, end.result, end.good) == ("serving qwen, after 25s", "serving", True)
    assert end.to_json()["phases"] == phases
    assert followed.following.done


def test_what_is_up_is_up_already(tmp_path: Path) -> None:
    followed = follow(tmp_path, "start", RUNNING)
    assert followed.look(RUNNING).text == "serving qwen already"


def test_a_restart_is_over_when_its_new_run_is(tmp_path: Path) -> None:
    followed = follow(tmp_path, "restart", RUNNING)
    assert followed.look(RUNNING | {"Job": "7"}).result is None
    assert followed.look({"ActiveState": "deactivating", "Job": "7"}).text == "ending, 10s"
    assert followed.look(RUNNING | {"InvocationID": "run3"}).text == "serving qwen, after 15s"


@pytest.mark.parametrize(
    ("fields", "reason", "next_step"),
    [
        (PAUSING, MEMORY, "systemd goes on trying: start 2 of 3 follows within 10s"),
        (PAUSING | {"Job": "9"}, MEMORY, "systemd goes on trying: start 2 of 3 follows within 10s"),
        (LOADING | {"NRestarts": "1"}, MEMORY, "systemd goes on trying: start 2 is under way"),
        (FAILED, MEMORY | {"permanent": True}, "systemd does not try again: a restart cannot help"),
        (FAILED, MEMORY, ""),
    ],
    ids=["pausing", "pausing with a job", "starting again already", "for good", "failed"],
)
def test_a_failure_is_told_with_its_reason_and_what_systemd_does(
    tmp_path: Path, fields: dict[str, str], reason: dict[str, Any], next_step: str
) -> None:
    followed = follow(tmp_path, "start")
    followed.clock.now += 20
    followed.home.history("a", failed(followed.clock, reason=reason))
    end = followed.look(fields)
    assert (end.text, end.result, end.reason, end.line) == ("failed after 25s", "failed", reason, "")
    assert end.next == next_step


def test_an_older_failure_is_not_taken_for_this_one(tmp_path: Path) -> None:
    followed = follow(tmp_path, "start")
    followed.home.history("a", failed(followed.clock, ended=followed.clock.time() - 60))
    end = followed.look(FAILED)
    assert end.reason == {}
    assert end.line == "Error: statfs /srv/models: no such file or directory"


def test_without_a_journal_a_failure_is_told_all_the_same(tmp_path: Path) -> None:
    followed = follow(tmp_path, "start")
    followed.answers["journalctl"] = HostError("journalctl is not installed")
    assert followed.look(FAILED).line == ""


def test_a_waiting_restart_does_not_count_the_attempt_before(tmp_path: Path) -> None:
    followed = follow(tmp_path, "start", PAUSING | RUN1)
    assert followed.look(PAUSING | RUN1 | {"Job": "8"}).result is None


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"InvocationID": "run2"}, "it was stopped meanwhile"),
        (FAILED, "it was stopped meanwhile"),
        (RUN1, "systemd did not start it"),
    ],
    ids=["stopped", "killed by a stop while it loaded", "a required unit failed"],
)
def test_what_does_not_run_and_has_not_failed_was_not_started(
    tmp_path: Path, fields: dict[str, str], text: str
) -> None:
    followed = follow(tmp_path, "start")
    if fields != RUN1:
        followed.home.history("a", failed(followed.clock, outcome="ended"))
    end = followed.look(fields)
    assert (end.text, end.result) == (text, "failed")
    assert end.line == ""


@pytest.mark.parametrize(
    ("before", "fields", "text", "result"),
    [
        (RUNNING, {"ActiveState": "deactivating", "Job": "7"}, "stopping, 5s", None),
        (RUNNING, RUNNING | {"Job": "7"}, "stopping, 5s", None),
        (RUNNING, {}, "stopped, after 5s", "stopped"),
        (RUNNING, FAILED, "stopped, after 5s", "stopped"),
        (RUNNING, MISSING, "stopped, after 5s", "stopped"),
        (RUNNING, LOADING | {"Job": ""}, "it was started again", "failed"),
        ({}, {}, "it did not run", "stopped"),
    ],
    ids=["stopping", "not yet", "stopped", "by force", "removed", "started again", "down before"],
)
def test_a_stop_is_followed_to_its_end(
    tmp_path: Path, before: dict[str, str], fields: dict[str, str], text: str, result: str | None
) -> None:
    end = follow(tmp_path, "stop", before).look(fields)
    assert (end.text, end.result) == (text, result)


def test_only_what_goes_on_is_asked_for(tmp_path: Path) -> None:
    answers: dict[str, Any] = {"systemctl": blocks(RUNNING, LOADING)}
    runner = FakeRunner(answers)
    before = {name: LiveUnit(name=f"{name}.service") for name in ("a", "b")}
    following = Following(runner, tmp_path, "start", before)
    assert [one.result for one in following.look()] == ["serving", None]
    answers["systemctl"] = blocks(RUNNING)
    assert [one.result for one in following.look()] == ["serving", "serving"]
    assert [call[call.index("--") + 1 :] for call in runner.calls] == [
        ("a.service", "b.service"),
        ("b.service",),
    ]
    assert following.done


def test_looks_become_rare_in_a_long_start(tmp_path: Path) -> None:
    following = Following(FakeRunner(), tmp_path, "start", {})
    pauses = [following.pause for _ in range(40)]
    assert pauses == sorted(pauses)
    assert pauses[0] < 0.3
    assert pauses[-1] == 1.0
