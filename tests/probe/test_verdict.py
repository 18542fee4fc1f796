from __future__ import annotations

from typing import Any

import pytest
from probe_samples import DEAD_ENGINE, NOT_FOUND, OK, REFUSED, RESET, UNAUTHORIZED, metrics, models

from quadgen.probe.client import Answer
from quadgen.probe.metrics import counters
from quadgen.probe.probefile import Budgets
from quadgen.probe.server import Names
from quadgen.probe.verdict import Observation, judge

BUDGETS = Budgets(interval=10, failures=3, hang_timeout=120)
IDLE = counters(metrics(tokens=5).body.decode())
ONE = counters(metrics(running=1, tokens=5).body.decode())
QUEUE = counters(metrics(running=4, waiting=9, tokens=5).body.decode())
ASLEEP = counters(metrics(awake=0).body.decode())
SILENT = Answer(kind="timeout", seconds=5)
SLOW = Answer(kind="ok", status=200, seconds=4)
RIGHT = Names(listed=("qwen",), missing=())
WRONG = Names(listed=("llama",), missing=("qwen",))

TABLE: list[tuple[str, str, dict[str, Any]]] = [
    ("idle", "serving", {"health": OK, "counters": IDLE, "names": RIGHT}),
    ("at-work", "serving", {"health": OK, "counters": ONE, "moved": True}),
    ("no-counters", "serving", {"health": OK}),
    ("no-counters-work-ok", "serving", {"health": OK, "work": "ok"}),
    ("queue", "busy", {"health": OK, "counters": QUEUE, "moved": True}),
    ("queue-long-prefill", "busy", {"health": OK, "counters": QUEUE, "still_for": 30}),
    ("slow-and-moving", "busy", {"health": SLOW, "counters": ONE, "moved": True}),
    ("silent-and-moving", "busy", {"health": SILENT, "counters": QUEUE, "moved": True, "silent_for": 0}),
    (
        "silent-and-moving-for-long",
        "busy",
        {"health": SILENT, "moved": True, "silent_for": 999, "bad_looks": 99},
    ),
    (
        "silent",
        "degraded",
        {"health": SILENT, "silent_for": 60, "still_for": 60, "bad_looks": 9, "bad_for": 99},
    ),
    ("silent-for-long", "hung", {"health": SILENT, "silent_for": 120, "still_for": 120}),
    ("silent-but-a-token-of-late", "degraded", {"health": SILENT, "silent_for": 130, "still_for": 60}),
    ("owes-answers", "serving", {"health": OK, "counters": ONE, "still_for": 30}),
    ("owes-answers-longer", "degraded", {"health": OK, "counters": ONE, "still_for": 60}),
    ("owes-answers-too-long", "hung", {"health": OK, "counters": ONE, "still_for": 120}),
    ("queue-too-long", "hung", {"health": OK, "counters": QUEUE, "still_for": 121}),
    (
        "moving-again",
        "serving",
        {"health": OK, "counters": ONE, "still_for": 0, "moved": True, "work": "stuck"},
    ),
    ("stuck-and-gauge-at-0", "degraded", {"health": OK, "counters": IDLE, "work": "stuck", "still_for": 60}),
    (
        "stuck-too-long-gauge-at-0",
        "hung",
        {"health": OK, "counters": IDLE, "work": "stuck", "still_for": 120},
    ),
    ("stuck-no-counters", "hung", {"health": OK, "work": "stuck", "still_for": 120}),
    ("idle-for-days", "serving", {"health": OK, "counters": IDLE, "still_for": 1e6}),
    ("work-under-way", "serving", {"health": OK, "counters": IDLE, "work": "under-way", "still_for": 100}),
    (
        "work-failed",
        "degraded",
        {"health": OK, "counters": IDLE, "work": "failed", "work_detail": "HTTP 500"},
    ),
    (
        "work-refused",
        "serving",
        {"health": OK, "counters": IDLE, "work": "refused", "work_detail": "HTTP 400"},
    ),
    ("asleep", "asleep", {"health": OK, "counters": ASLEEP, "still_for": 9999}),
    ("process-gone", "dead", {"alive": False}),
    ("process-not-known", "serving", {"alive": None, "health": OK, "counters": IDLE}),
    ("refused-once", "degraded", {"health": REFUSED, "bad_looks": 1}),
    ("refused-often", "dead", {"health": REFUSED, "bad_looks": 3, "bad_for": 20}),
    ("refused-in-a-burst", "degraded", {"health": REFUSED, "bad_looks": 3, "bad_for": 1}),
    ("reset-often", "dead", {"health": RESET, "bad_looks": 3, "bad_for": 20}),
    ("503-once", "degraded", {"health": DEAD_ENGINE, "bad_looks": 1}),
    ("503-often", "dead", {"health": DEAD_ENGINE, "bad_looks": 3, "bad_for": 20}),
    ("404-however-often", "misconfigured", {"health": NOT_FOUND, "bad_looks": 99, "bad_for": 999}),
    ("not-http", "misconfigured", {"health": Answer(kind="not-http"), "bad_looks": 99, "bad_for": 999}),
    ("certificate", "misconfigured", {"health": Answer(kind="tls", detail="expired"), "bad_looks": 99}),
    ("other-key", "misconfigured", {"health": OK, "models": UNAUTHORIZED, "counters": IDLE}),
    ("other-key-at-work", "misconfigured", {"health": OK, "work": "refused", "work_detail": "HTTP 401"}),
    ("other-key-and-hung", "hung", {"health": OK, "models": UNAUTHORIZED, "counters": ONE, "still_for": 120}),
    ("other-names", "misconfigured", {"health": OK, "models": models("llama"), "names": WRONG}),
    ("models-404", "misconfigured", {"health": OK, "models": NOT_FOUND}),
    ("draining", "draining", {"unit": "deactivating", "health": REFUSED, "bad_looks": 99, "bad_for": 999}),
    ("loading", "unknown", {"unit": "activating", "health": REFUSED, "bad_looks": 99, "bad_for": 999}),
    ("warming-up", "serving", {"unit": "activating", "health": OK, "counters": IDLE}),
    ("nothing-asked", "unknown", {}),
]


@pytest.mark.parametrize(("state", "seen"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_verdict(state: str, seen: dict[str, Any]) -> None:
    verdict = judge(Observation(**seen), BUDGETS)
    assert verdict.state == state, verdict.evidence
    assert verdict.evidence
    assert verdict.fatal == (state in {"dead", "hung"})


def test_evidence_names_the_other_names() -> None:
    verdict = judge(Observation(health=OK, names=WRONG), BUDGETS)
    assert verdict.evidence == "it serves llama, not qwen"
