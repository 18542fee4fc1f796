from __future__ import annotations

import math

import pytest
from probe_samples import metrics

from quadgen.probe.metrics import counters, samples


@pytest.mark.parametrize(
    ("line", "labels", "value"),
    [
        ("m 1", {}, 1.0),
        ("m 1.5e3 1700000000000", {}, 1500.0),
        ('m{a="1"} 2', {"a": "1"}, 2.0),
        ('m{a="1",b="2",} 3', {"a": "1", "b": "2"}, 3.0),
        ('m{a="x\\"y\\\\z\\nw"} 4', {"a": 'x"y\\z\nw'}, 4.0),
        ('m{a="x} 9",b="c,d=\\"e\\""} 5', {"a": "x} 9", "b": 'c,d="e"'}, 5.0),
        ('m{a="1"} 6 # {trace="t"} 0.5', {"a": "1"}, 6.0),
        ("m +Inf", {}, math.inf),
        ("m\t7", {}, 7.0),
        ("m{} 8", {}, 8.0),
    ],
    ids=["bare", "time", "label", "comma", "escapes", "braces", "exemplar", "inf", "tab", "no-labels"],
)
def test_a_sample_is_read_exactly(line: str, labels: dict[str, str], value: float) -> None:
    assert list(samples(f"# HELP m x\n{line}\n", {"m"})) == [("m", labels, value)]


@pytest.mark.parametrize(
    "line", ["# m 1", "mm 1", "m_created 1", "m", "m x", 'm{a="1', "", "m{a=1} "], ids=repr
)
def test_what_is_no_sample_is_passed_over(line: str) -> None:
    assert list(samples(line, {"m"})) == []


def test_nan_is_a_value() -> None:
    ((_, _, value),) = samples("m NaN", {"m"})
    assert math.isnan(value)


def test_engines_are_summed_and_nan_and_creation_times_left_out() -> None:
    text = """\
vllm:num_requests_running{engine="0"} 2.0
vllm:num_requests_running{engine="1"} 3.0
vllm:num_requests_waiting{engine="0"} NaN
vllm:num_requests_waiting{engine="1"} 1.0
vllm:num_requests_waiting_by_reason{engine="1",reason="capacity"} 9.0
vllm:prompt_tokens_total{engine="0"} 10.0
vllm:prompt_tokens_total{engine="1"} 20.0
vllm:prompt_tokens_created{engine="0"} 1.7e+09
vllm:generation_tokens_total{engine="0"} 5.0
"""
    found = counters(text)
    assert found is not None
    assert (found.running, found.waiting, found.tokens) == (5.0, 1.0, 35.0)
    assert not found.asleep


def test_a_server_without_counters_has_none() -> None:
    assert counters("process_start_time_seconds 1\n") is None


@pytest.mark.parametrize(("awake", "asleep"), [(1, False), (0, True)], ids=["awake", "asleep"])
def test_sleep_is_told(awake: int, asleep: bool) -> None:
    found = counters(metrics(awake=awake).body.decode())
    assert found is not None
    assert found.asleep is asleep
