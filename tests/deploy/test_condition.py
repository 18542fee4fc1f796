from __future__ import annotations

from typing import Any

import pytest

from quadgen.deploy.condition import Condition, Seen, age, condition, reason_words
from quadgen.deploy.live import LiveUnit, live_units
from quadgen.host.run import FakeRunner

from .served import FAILED, LOADING, MEMORY, MISSING, NOW, PAUSING, RUNNING, blocks

CAUSE = "the GPU's memory is too small: torch.OutOfMemoryError: CUDA out of memory"
OPTION = {"kind": "option", "what": "vLLM refuses an option", "line": "--x", "permanent": True}
SERVED = {"invocation": "run2", "began": NOW - 4000, "outcome": "serving", "seconds": 72.3}
FAILING = {
    "invocation": "run2",
    "began": NOW - 400,
    "ended": NOW - 300,
    "outcome": "failed",
    "reason": MEMORY,
}
WATCH = {
    "state": "serving",
    "evidence": "0 running, 0 waiting, 7 tokens",
    "since": NOW - 60,
    "looked": NOW - 30,
    "invocation": "run2",
}
STOPPING = {
    "ActiveState": "deactivating",
    "SubState": "stop-sigterm",
    "StateChangeTimestamp": f"@{int(NOW) - 2}",
}


def unit(fields: dict[str, str]) -> LiveUnit:
    return live_units(FakeRunner({"systemctl": blocks(fields)}), ["a.service"])["a.service"]


def seen(fields: dict[str, str] | None, **changes: Any) -> Condition:
    given: dict[str, Any] = {"watch": {}, "now": NOW} | changes
    return condition(Seen(unit=None if fields is None else unit(fields), **given))


@pytest.mark.parametrize(
    ("fields", "facts", "state", "evidence", "since"),
    [
        pytest.param(
            RUNNING, {"watch": WATCH}, "serving", "0 running, 0 waiting, 7 tokens", 3600, id="watched"
        ),
        pytest.param(
            RUNNING,
            {"watch": WATCH, "watcher": "serving: 4 running, 0 waiting, 99 tokens"},
            "serving",
            "4 running, 0 waiting, 99 tokens",
            3600,
            id="the watch's word to systemd is newer than its file",
        ),
        pytest.param(
            RUNNING,
            {"watch": WATCH, "watcher": "waiting: a.service is activating"},
            "serving",
            "0 running, 0 waiting, 7 tokens",
            3600,
            id="the watch waits",
        ),
        pytest.param(
            RUNNING,
            {"watch": WATCH | {"state": "busy", "evidence": "9 running"}},
            "busy",
            "9 running",
            3600,
            id="busy serves since its start",
        ),
        pytest.param(
            RUNNING,
            {"watch": WATCH | {"state": "hung", "evidence": "3 requests and no token for 2m00s"}},
            "hung",
            "3 requests and no token for 2m00s",
            60,
            id="hung since the verdict",
        ),
        pytest.param(
            RUNNING,
            {"watch": WATCH | {"looked": NOW - 700}},
            "unknown",
            "the watch is silent for 11m40s; it last saw serving: 0 running, 0 waiting, 7 tokens",
            700,
            id="the watch is silent",
        ),
        pytest.param(
            RUNNING,
            {"watch": WATCH | {"invocation": "run1", "state": "hung"}, "starts": [SERVED]},
            "serving",
            "it answered after 1m12s of loading",
            3600,
            id="the watch's verdict is of an earlier run",
        ),
        pytest.param(
            RUNNING, {}, "unknown", "it runs, and nothing has looked at it yet", 3600, id="no record"
        ),
        pytest.param(RUNNING, {"probed": False}, "running", "", 3600, id="no probe"),
        pytest.param(LOADING, {}, "loading", "loading weights 42 % (8/19), 1m12s", 72, id="loading"),
        pytest.param(
            LOADING | {"SubState": "start-pre", "StatusText": ""},
            {},
            "loading",
            "checking what it needs",
            72,
            id="checks",
        ),
        pytest.param(
            PAUSING | {"NRestarts": "1"},
            {"starts": [FAILING]},
            "restarting",
            f"start 3 of 3 follows within 10s; {CAUSE}",
            4,
            id="pausing",
        ),
        pytest.param(
            PAUSING | {"NRestarts": "8", "RestartUSec": ""},
            {},
            "restarting",
            "the next start follows",
            4,
            id="pausing, and the restarts before lie outside the window",
        ),
        pytest.param(STOPPING, {}, "draining", "systemd is stopping it", 2, id="stopping"),
        pytest.param(FAILED, {"starts": [FAILING]}, "failed", CAUSE, 300, id="failed at the first start"),
        pytest.param(
            FAILED | {"NRestarts": "3"},
            {"starts": [FAILING]},
            "failed",
            f"start limit: 3 starts within 1h; last: {CAUSE}",
            300,
            id="start limit after automatic restarts",
        ),
        pytest.param(
            FAILED | {"Result": "start-limit-hit"},
            {},
            "failed",
            "start limit: 3 starts within 1h",
            300,
            id="start limit at a start by hand",
        ),
        pytest.param(
            FAILED | {"NRestarts": "2"},
            {"starts": [FAILING | {"reason": OPTION}]},
            "failed",
            "vLLM refuses an option: --x",
            300,
            id="for good",
        ),
        pytest.param(FAILED, {}, "failed", "systemd says exit-code", 300, id="failed without a record"),
        pytest.param({}, {}, "stopped", "", None, id="never started"),
        pytest.param(
            {},
            {"starts": [FAILING | {"outcome": "ended"}]},
            "stopped",
            "",
            300,
            id="stopped before systemd forgot it",
        ),
        pytest.param({}, {"starts": [FAILING]}, "stopped", CAUSE, 300, id="stopped after it failed"),
        pytest.param(
            {"LoadState": "masked"}, {}, "masked", "it is masked, so it cannot start", None, id="masked"
        ),
        pytest.param(
            MISSING, {}, "not-loaded", "systemd has not read its unit file (not-found)", None, id="not read"
        ),
        pytest.param(MISSING, {"installed": False, "starts": [FAILING]}, "removed", CAUSE, 300, id="removed"),
        pytest.param(
            RUNNING | MISSING,
            {"installed": False, "watch": WATCH},
            "serving",
            "0 running, 0 waiting, 7 tokens",
            3600,
            id="its file is gone, and it runs",
        ),
        pytest.param(
            None,
            {"watch": WATCH},
            "unknown",
            "30s ago serving: 0 running, 0 waiting, 7 tokens",
            None,
            id="no manager",
        ),
        pytest.param(
            None,
            {"starts": [FAILING]},
            "unknown",
            f"it ended 5m00s ago: {CAUSE}",
            None,
            id="no manager, ended",
        ),
        pytest.param(None, {}, "unknown", "it never started", None, id="no manager, never started"),
    ],
)
def test_a_service_is_what_systemd_and_the_probe_say(
    fields: dict[str, str] | None, facts: dict[str, Any], state: str, evidence: str, since: float | None
) -> None:
    found = seen(fields, **facts)
    assert (found.state, found.evidence) == (state, evidence)
    assert found.since == (None if since is None else NOW - since)


@pytest.mark.parametrize(
    ("state", "good"),
    [("serving", True), ("busy", True), ("asleep", True), ("degraded", False), ("misconfigured", False)],
)
def test_a_service_is_good_where_it_does_what_it_should(state: str, good: bool) -> None:
    assert seen(RUNNING, watch=WATCH | {"state": state}).good is good


@pytest.mark.parametrize(
    "watch",
    [{"state": "serving"}, WATCH | {"looked": "soon"}, WATCH | {"since": None}],
    ids=["no time", "no number", "no since"],
)
def test_a_damaged_state_file_is_survived(watch: dict[str, Any]) -> None:
    assert seen(RUNNING, watch=watch, starts=[{"reason": 3, "seconds": True}]).state in {"unknown", "serving"}


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (MEMORY, CAUSE),
        ({"what": "it ended"}, "it ended"),
        ({"line": "x"}, "x"),
        ({}, ""),
        (None, ""),
        ("text", ""),
    ],
    ids=["both", "what", "line", "empty", "none", "damaged"],
)
def test_a_reason_is_one_line(reason: object, words: str) -> None:
    assert reason_words(reason) == words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (59, "59s"), (7500, "2h05m"), (172_799, "47h59m"), (3 * 86400 + 7200, "3d02h")],
)
def test_an_age_is_short(seconds: float, text: str) -> None:
    assert age(seconds) == text
