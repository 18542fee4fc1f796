from __future__ import annotations

import pytest

from quadgen.probe.phases import PHASES, PhaseTimes, PhaseTracker

INFO = "(APIServer pid=9) INFO 01-31 10:00:00 [x.py:1] "
ENGINE = "(EngineCore_DP0 pid=10) INFO 01-31 10:00:00 [core.py:1] "


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        (INFO + "non-default args: {'model': 'm'}", "arguments"),
        (INFO + "Resolved architecture: Qwen3ForCausalLM", "config"),
        (INFO + "Using max model len 32768", "config"),
        (ENGINE + "Initializing a V1 LLM engine (v0.32.0) with config: model='m'", "engine"),
        (ENGINE + "Starting to load model org/m...", "model"),
        (ENGINE + "Time spent downloading weights for org/m: 812.120000 seconds", "fetched"),
        ("Loading safetensors checkpoint shards:   0% Completed | 0/19 [00:00<?, ?it/s]", "weights"),
        ("Loading pt checkpoint shards:   0% Completed | 0/2 [00:00<?, ?it/s]", "weights"),
        ("Multi-thread loading shards:  50% Completed | 1/2 [00:00<00:01]", "weights"),
        (ENGINE + "Loading weights took 12.10 seconds", "loaded"),
        (ENGINE + "Model loading took 18.2 GiB memory and 40.100000 seconds", "loaded"),
        (ENGINE + "Using cache directory: /root/.cache/x for vLLM's torch.compile", "compile"),
        (ENGINE + "Dynamo bytecode transform time: 19.00 s", "compile"),
        (ENGINE + "torch.compile took 13.93 s in total", "compile"),
        (ENGINE + "Available KV cache memory: 9.10 GiB", "cache"),
        (ENGINE + "GPU KV cache size: 123,456 tokens", "cache"),
        (ENGINE + "Maximum concurrency for 32,768 tokens per request: 3.77x", "cache"),
        ("Capturing CUDA graphs (decode, FULL):  10%|#         | 3/35 [00:00<00:03]", "graphs"),
        ("Capturing prefill CUDA graphs (FULL):  10%|#         | 3/35 [00:00<00:03]", "graphs"),
        (ENGINE + "Graph capturing finished in 5 secs, took 0.50 GiB", "graphs"),
        (ENGINE + "init engine (profile, create kv cache, warmup model) took 55.0 seconds", "initialised"),
        (INFO + "Starting vLLM server on http://0.0.0.0:8000", "server"),
        ("(APIServer pid=9) INFO:     Application startup complete.", "answering"),
    ],
    ids=lambda value: value[-40:] if " " in value else value,
)
def test_each_line_of_vllm_names_its_phase(line: str, phase: str) -> None:
    tracker = PhaseTracker()
    assert tracker.feed(line)
    assert tracker.phase.name == phase


@pytest.mark.parametrize(
    "line",
    ["", "Error: no", "pid 100% busy", INFO + "Route: /health, Methods: GET", "#" * 2000],
    ids=["empty", "error", "percent", "route", "long"],
)
def test_other_lines_are_no_progress(line: str) -> None:
    tracker = PhaseTracker()
    assert not tracker.feed(line)
    assert tracker.phase is PHASES[0]


def test_a_bar_shows_percent_and_counts_only_what_it_has_not_shown() -> None:
    tracker = PhaseTracker()
    bar = "Loading safetensors checkpoint shards:  {}% Completed | {}/19 [00:12<00:16,  1.5s/it]"
    assert tracker.feed(bar.format(0, 0))
    assert tracker.feed(bar.format(42, 8))
    assert tracker.label == "loading weights 42 % (8/19)"
    assert not tracker.feed(bar.format(42, 8))
    assert not tracker.feed(bar.format(0, 0)), "a load that starts over and over is no progress"
    assert tracker.feed(bar.format(47, 9))


def test_a_phase_never_goes_back() -> None:
    tracker = PhaseTracker()
    tracker.feed(ENGINE + "Model loading took 18.2 GiB memory and 40.1 seconds")
    assert tracker.feed("Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01]")
    assert tracker.label == "weights loaded", "the drafter's own bar"
    assert not tracker.feed(ENGINE + "Starting to load model org/drafter...")


def test_times_add_up_by_phase() -> None:
    times = PhaseTimes("container", 10.0)
    times.enter("weights", 12.5)
    times.enter("weights", 13.0)
    times.enter("compile", 20.0)
    assert times.until(21.04) == {"container": 2.5, "weights": 7.5, "compile": 1.0}
