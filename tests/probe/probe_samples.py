"""One service's probe file, and answers of a vLLM server, for all tests of the probe."""

from __future__ import annotations

import json
from typing import Any

from quadgen.probe.client import Answer
from quadgen.probe.probefile import Budgets, Needs, ProbeFile, Server

OK = Answer(kind="ok", status=200)
REFUSED = Answer(kind="refused", detail="Connection refused")
RESET = Answer(kind="reset")
TIMEOUT = Answer(kind="timeout", seconds=1e9)
UNAUTHORIZED = Answer(kind="unauthorized", status=401, body=b'{"error":"Unauthorized"}')
NOT_FOUND = Answer(kind="not-found", status=404)
DEAD_ENGINE = Answer(kind="unavailable", status=503)


def probe_file(**changes: Any) -> ProbeFile:
    given: dict[str, Any] = {
        "service": "vllm-a",
        "unit": "vllm-a.service",
        "container": "vllm-a",
        "server": Server(url="http://127.0.0.1:8000", names=("qwen",)),
        "budgets": Budgets(startup_timeout=600, stall_timeout=120, wait_timeout=30),
        "needs": Needs(),
    }
    return ProbeFile(**(given | changes))


def models(*names: str) -> Answer:
    body = json.dumps({"object": "list", "data": [{"id": name, "root": "/m"} for name in names]})
    return Answer(kind="ok", status=200, body=body.encode())


def metrics(*, running: float = 0, waiting: float = 0, tokens: float = 0, awake: int = 1) -> Answer:
    text = f"""\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="qwen"}} {running}
vllm:num_requests_waiting{{engine="0",model_name="qwen"}} {waiting}
vllm:engine_sleep_state{{engine="0",model_name="qwen",sleep_state="awake"}} {awake}
vllm:prompt_tokens_total{{engine="0",model_name="qwen"}} 7.0
vllm:generation_tokens_total{{engine="0",model_name="qwen"}} {tokens}
"""
    return Answer(kind="ok", status=200, body=text.encode())
