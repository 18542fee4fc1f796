"""Values of the spec become words, and nothing else."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from quadgen.errors import SpecError
from quadgen.vllm.argv import Invocation, argv


class SpecFloat(float):
    """A float that remembers its spelling, as the loader's does."""

    text = "0.90"


def words(release: str = "0.33.0", **options: Any) -> list[str]:
    return list(argv(Invocation(model="m", release=release, options=named(options))))[1:]


def named(options: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("__", "."): value for name, value in options.items()}


def refused(release: str = "0.33.0", command: Any = "serve", **options: Any) -> SpecError:
    with pytest.raises(SpecError) as caught:
        argv(Invocation(model="m", release=release, command=command, options=named(options)))
    return caught.value


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"enforce_eager": True}, ["--enforce-eager"], id="boolean"),
        pytest.param({"enable_prefix_caching": False}, ["--no-enable-prefix-caching"], id="boolean-off"),
        pytest.param(
            {"no_enable_prefix_caching": True}, ["--no-enable-prefix-caching"], id="negative-spelling"
        ),
        pytest.param({"disable_log_stats": True}, ["--disable-log-stats"], id="flag"),
        pytest.param({"disable_log_stats": False}, [], id="flag-off"),
        pytest.param({"max_num_seqs": 32}, ["--max-num-seqs", "32"], id="int"),
        pytest.param({"max_num_seqs": "32"}, ["--max-num-seqs", "32"], id="int-as-text"),
        pytest.param({"seed": -1}, ["--seed=-1"], id="negative-int"),
        pytest.param(
            {"gpu_memory_utilization": SpecFloat("0.90")}, ["--gpu-memory-utilization", "0.90"], id="float"
        ),
        pytest.param({"gpu_memory_utilization": 1}, ["--gpu-memory-utilization", "1"], id="float-as-int"),
        pytest.param({"kv_cache_memory_bytes": "48G"}, ["--kv-cache-memory-bytes", "48G"], id="size"),
        pytest.param({"max_model_len": "auto"}, ["--max-model-len", "auto"], id="auto"),
        pytest.param({"dtype": "bfloat16"}, ["--dtype", "bfloat16"], id="choice"),
        pytest.param(
            {"moe_backend": "Flashinfer-Cutlass"}, ["--moe-backend", "Flashinfer-Cutlass"], id="folded-choice"
        ),
        pytest.param({"root_path": ""}, ["--root-path="], id="empty-text"),
        pytest.param({"response_role": "-x"}, ["--response-role=-x"], id="text-with-dash"),
        pytest.param({"response_role": "a\nb"}, ["--response-role", "a\nb"], id="text-with-newline"),
        pytest.param(
            {"response_role": "naïve 日本"}, ["--response-role", "naïve 日本"], id="text-with-unicode"
        ),
        pytest.param({"cpu_offload_params": ["a.*", "b"]}, ["--cpu-offload-params", "a.*", "b"], id="list"),
        pytest.param(
            {"cpu_offload_params": "a.*"}, ["--cpu-offload-params", "a.*"], id="list-of-one-as-text"
        ),
        pytest.param({"cpu_offload_params": ["-a"]}, ["--cpu-offload-params=-a"], id="list-of-one-with-dash"),
        pytest.param(
            {"cudagraph_capture_sizes": [1, 2, 4]},
            ["--cudagraph-capture-sizes", "1", "2", "4"],
            id="int-list",
        ),
        pytest.param(
            {"middleware": ["a.b", "c.D"]}, ["--middleware", "a.b", "--middleware", "c.D"], id="repeated"
        ),
        pytest.param({"device_ids": [0, 2]}, ["--device-ids", "0,2"], id="comma-list"),
        pytest.param({"hf_token": True}, ["--hf-token"], id="optional-value"),
        pytest.param({"optimization_level": 3}, ["--optimization-level", "3"], id="level"),
        pytest.param({"O": 3}, ["--optimization-level", "3"], id="level-short"),
        pytest.param({"tp": 2}, ["--tensor-parallel-size", "2"], id="short-name"),
        pytest.param({"device_memory_utilization": 1}, ["--gpu-memory-utilization", "1"], id="alias"),
        pytest.param({"allowed_origins": ["*"]}, ["--allowed-origins", '["*"]'], id="json-list"),
        pytest.param(
            {"limit_mm_per_prompt": {"image": 2, "ü": 1}},
            ["--limit-mm-per-prompt", '{"image":2,"ü":1}'],
            id="json-table",
        ),
        pytest.param(
            {"speculative_config": '{"method": "ngram"}'},
            ["--speculative-config", '{"method": "ngram"}'],
            id="json-text",
        ),
        pytest.param(
            {"compilation_config": {"pass_config": {"eliminate_noops": True}}, "compilation-config__mode": 3},
            ["--compilation-config", '{"pass_config":{"eliminate_noops":true},"mode":3}'],
            id="dotted-key-and-table",
        ),
        pytest.param(
            {"compilation-config__pass_config__eliminate_noops": True},
            ["--compilation-config", '{"pass_config":{"eliminate_noops":true}}'],
            id="dotted-key-alone",
        ),
        pytest.param({"hf_overrides": "my.module"}, ["--hf-overrides", "my.module"], id="json-or-text"),
        pytest.param(
            {"enable_lora": True, "lora_modules": ["a=/a", {"name": "b", "path": "/b"}]},
            ["--enable-lora", "--lora-modules", "a=/a", '{"name":"b","path":"/b"}'],
            id="lora",
        ),
        pytest.param({"quantization": "None"}, ["--quantization", "None"], id="unset-by-word"),
        pytest.param({"max_num_seqs": [32]}, ["--max-num-seqs", "32"], id="list-of-one-for-one-value"),
    ],
)
def test_a_value_becomes_words(options: dict[str, Any], expected: list[str]) -> None:
    assert words(**options) == expected


def test_the_model_comes_first_then_names_then_options_in_order() -> None:
    invocation = Invocation(
        model="a/b",
        release="0.33",
        served_names=("x", "y"),
        options={"seed": 1, "dtype": "half", "enforce-eager": True},
    )
    assert argv(invocation) == (
        "a/b", "--served-model-name", "x", "y", "--seed", "1", "--dtype", "half", "--enforce-eager",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param({"max_num_seqs": 8.0}, "value-type", id="float-for-int"),
        pytest.param({"max_num_seqs": True}, "value-type", id="true-for-int"),
        pytest.param({"max_num_seqs": [1, 2]}, "value-type", id="list-for-one-value"),
        pytest.param({"enforce_eager": "true"}, "value-type", id="text-for-boolean"),
        pytest.param({"enforce_eager": 1}, "value-type", id="number-for-boolean"),
        pytest.param({"kv_cache_memory_bytes": "48GB"}, "value-type", id="size-with-unit"),
        pytest.param({"kv_cache_memory_bytes": "1.5K"}, "value-type", id="binary-size-with-point"),
        pytest.param({"cpu_offload_params": []}, "value-type", id="empty-list"),
        pytest.param({"cpu_offload_params": ["-a", "b"]}, "value-leading-dash", id="dash-in-list"),
        pytest.param({"revision": {"a": 1}}, "value-shape", id="table-for-text"),
        pytest.param({"revision": dt.date(2026, 1, 1)}, "value-type", id="date"),
        pytest.param({"revision": "a\0b"}, "value-nul", id="nul"),
        pytest.param({"limit_mm_per_prompt": {"at": dt.date(2026, 1, 1)}}, "value-type", id="date-in-json"),
        pytest.param({"limit_mm_per_prompt": [1]}, "json-shape", id="list-for-table"),
        pytest.param({"allowed_origins": ["a", 1]}, "json-shape", id="number-among-origins"),
        pytest.param({"compilation_config": [1]}, "value-type", id="list-for-class"),
        pytest.param({"compilation_config": {"modee": 3}}, "json-key", id="json-key"),
        pytest.param({"compilation_config": {"mode": "fast"}}, "json-type", id="json-choice"),
        pytest.param({"speculative_config": {"methd": "ngram"}}, "json-key-at-start", id="json-key-late"),
        pytest.param({"eplb_config": {"window_size": 0}}, "json-bounds", id="json-bounds"),
        pytest.param({"lora_modules": ["a"]}, "value-type", id="lora-without-path"),
        pytest.param({"lora_modules": [{"name": "a"}]}, "value-type", id="lora-table-without-path"),
        pytest.param({"max_num_seqs": 1, "max-num-seqs": 2}, "option-twice", id="underscore-and-dash"),
        pytest.param({"tp": 1, "tensor_parallel_size": 1}, "option-twice", id="short-and-long"),
        pytest.param(
            {"gpu_memory_utilization": 1, "device_memory_utilization": 1}, "option-twice", id="alias-and-name"
        ),
        pytest.param({"kernel_config": {}, "kernel-config": {}}, "option-twice", id="two-tables"),
        pytest.param(
            {"compilation_config": "{}", "compilation-config__mode": 3}, "option-twice", id="text-and-dotted"
        ),
        pytest.param(
            {"compilation_config": {"mode": 1}, "compilation-config__mode": 3}, "json-twice", id="part-twice"
        ),
        pytest.param({"max_num_seqs__x": 3}, "dotted-not-json", id="dotted-name-of-a-number"),
        pytest.param({"no_enforce_eager": "x"}, "value-type", id="negative-with-text"),
    ],
)
def test_a_value_that_cannot_be_right_is_refused(options: dict[str, Any], code: str) -> None:
    assert [finding.code for finding in refused(**options).findings] == [code]


def test_a_finding_names_the_key_that_the_user_wrote() -> None:
    error = refused(**{"attention-config__backend": "FLASH", "compilation_config": {"pass_config": {"x": 1}}})
    assert [finding.path for finding in error.findings] == [
        ("serve", "attention-config.backend"),
        ("serve", "compilation_config", "pass_config", "x"),
    ]


@pytest.mark.parametrize("release", ["0.20.2", "0.26.0", "0.32.0", "0.33.0", "v0.33.1"])
def test_the_negative_form_is_one_that_every_release_takes(release: str) -> None:
    assert words(release, enable_prefix_caching=False) == ["--no-enable-prefix-caching"]


@pytest.mark.parametrize("release", ["0.17.1", "0.34.0", "unknown"])
def test_a_release_without_catalog_goes_by_structure(release: str) -> None:
    options = {
        "x": True, "y_z": False, "a": [1, "b"], "t": {"k": True}, "d": -1, "t.l": 2, "e": "",
        "s": SpecFloat("0.90"),
    }  # fmt: skip
    assert argv(Invocation(model="m", release=release, options=options))[1:] == (
        "--x", "--no-y-z", "--a", "1", "b", "--t", '{"k":true,"l":2}', "--d=-1", "--e=", "--s", "0.90",
    )  # fmt: skip


def test_a_value_of_another_release_is_told_apart() -> None:
    error = refused("0.26.0", kv_cache_dtype="nvfp4_4over6")
    assert "it is new in 0.28" in error.message


def test_launch_render_refuses_what_only_an_engine_uses() -> None:
    error = refused(command="launch render", gpu_memory_utilization=0.5)
    assert error.findings[0].code == "option-not-here"
