"""Every rule between options: a service that breaks it, and one next to it that does not."""

from __future__ import annotations

from typing import Any

import pytest

from quadgen.vllm.argv import Invocation
from quadgen.vllm.catalog import load
from quadgen.vllm.check import RULES, check
from quadgen.vllm.model_config import RULES as MODEL_RULES

DFLASH = {"spec-method": "dflash", "spec-model": "z-lab/Qwen3.6-35B-A3B-DFlash", "spec-tokens": 8}
EXTERNAL = {"data-parallel-size": 2, "data-parallel-external-lb": True, "data-parallel-rank": 0}
MULTI = {"data-parallel-multi-port-external-lb": True, "data-parallel-size": 4, "data-parallel-size-local": 2}
RUST = {"VLLM_USE_RUST_FRONTEND": "1"}
TOOLS = {"enable-auto-tool-choice": True, "tool-call-parser": "hermes"}
DENSE = {
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "max_position_embeddings": 4096,
    "torch_dtype": "bfloat16",
}
MOE = {**DENSE, "num_experts": 8}
MLA = {**MOE, "kv_lora_rank": 512}
HYBRID = {**DENSE, "layer_types": ["linear_attention", "full_attention"]}


def codes(options: dict[str, Any], **rest: Any) -> set[str]:
    defaults = {"model": "some/model", "release": "0.33.0"}
    return {finding.code for finding in check(Invocation(**{**defaults, **rest, "options": options}))}


# The code, what breaks the rule, and what is changed to keep it; None takes the option away.
ROWS: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("tool-choice-parser", {"enable-auto-tool-choice": True}, TOOLS, {}),
    ("tool-parser-unknown", {**TOOLS, "tool-call-parser": "hermez"}, {"tool-parser-plugin": "/plugins/a.py"}, {}),
    ("tool-parser-unused", {"tool-call-parser": "hermes"}, {"enable-auto-tool-choice": True}, {}),
    ("reasoning-parser-unknown", {"reasoning-parser": "qwen"}, {"reasoning-parser": "qwen3"}, {}),
    ("log-outputs-requests", {"enable-log-outputs": True}, {"enable-log-requests": True}, {}),
    (
        "request-metrics-stats",
        {"enable-per-request-metrics": True, "disable-log-stats": True},
        {"disable-log-stats": False},
        {},
    ),
    ("sse-interval", {"sse-keep-alive-interval": -1}, {"sse-keep-alive-interval": 15}, {}),
    ("reasoning-effort-map", {"reasoning-effort-map": {"much": "max"}}, {"reasoning-effort-map": {"high": "max"}}, {}),
    ("grpc-port", {"grpc-port": 8000}, {"grpc-port": 9000}, {"env": RUST}),
    ("grpc-reachable", {"grpc": True}, {"grpc": False}, {"reachable": True}),
    ("lora-enable", {"lora-modules": ["sql=/lora/sql"]}, {"enable-lora": True}, {}),
    (
        "lora-names",
        {"enable-lora": True, "lora-modules": ["a=/x", {"name": "a", "path": "/y"}]},
        {"lora-modules": ["a=/x", {"name": "b", "path": "/y"}]},
        {},
    ),
    ("tls-key", {"ssl-certfile": "/tls/cert.pem"}, {"ssl-keyfile": "/tls/key.pem"}, {}),
    (
        "lora-updating-servers",
        {"api-server-count": 2},
        {"api-server-count": 1},
        {"env": {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}},
    ),
    ("uds-socket", {"uds": "/run/vllm.sock"}, {"uds": None}, {}),
    ("load-balancing-modes", {**EXTERNAL, "data-parallel-hybrid-lb": True}, {"data-parallel-hybrid-lb": False}, {}),
    ("nodes-backend", {"nnodes": 2, "tensor-parallel-size": 2, "data-parallel-backend": "ray"}, {"data-parallel-backend": "mp"}, {}),
    ("data-parallel-backend", {"data-parallel-backend": "nccl"}, {"data-parallel-backend": "ray"}, {}),
    ("nodes-world", {"nnodes": 3, "tensor-parallel-size": 4}, {"nnodes": 2}, {}),
    ("nodes-rank", {"nnodes": 2, "tensor-parallel-size": 2, "node-rank": 2}, {"node-rank": 1}, {}),
    (
        "external-rank",
        {"data-parallel-size": 2, "data-parallel-external-lb": True},
        {"data-parallel-rank": 1},
        {},
    ),
    ("external-size", {"data-parallel-rank": 0}, {"data-parallel-size": 2}, {}),
    ("external-local", {**EXTERNAL, "data-parallel-size-local": 2}, {"data-parallel-size-local": 1}, {}),
    (
        "hybrid-local",
        {"data-parallel-hybrid-lb": True, "data-parallel-size": 4},
        {"data-parallel-size-local": 2},
        {},
    ),
    (
        "hybrid-single",
        {"data-parallel-hybrid-lb": True, "data-parallel-size": 4, "data-parallel-size-local": 1},
        {"data-parallel-size-local": 2},
        {},
    ),
    ("data-parallel-local", {"data-parallel-size-local": 4, "data-parallel-size": 2}, {"data-parallel-size": 4}, {}),
    ("data-parallel-rank", {**EXTERNAL, "data-parallel-rank": 2}, {"data-parallel-rank": 1}, {}),
    ("fault-tolerance", {"enable-fault-tolerance": True}, {**EXTERNAL, "api-server-count": 1}, {}),
    ("headless", {"headless": True, "api-server-count": 1}, {"headless": False}, {}),
    ("headless-gate", {"headless": True}, {"headless": False}, {}),
    ("multi-port", {**MULTI, "data-parallel-size-local": 1}, {"data-parallel-size-local": 2}, {}),
    ("eplb-parallel", {"enable-eplb": True}, {"enable-expert-parallel": True, "tensor-parallel-size": 2}, {}),
    (
        "eplb-experts",
        {"eplb-config": {"num_redundant_experts": 2}, "enable-expert-parallel": True, "tensor-parallel-size": 2},
        {"enable-eplb": True},
        {},
    ),
    (
        "elastic-ep",
        {"enable-elastic-ep": True, "enable-expert-parallel": True, "tensor-parallel-size": 2},
        {"enable-eplb": True},
        {},
    ),
    ("elastic-ep-size", {"enable-elastic-ep": True, "elastic-ep-max-dp-size": 1, "data-parallel-size": 2}, {"elastic-ep-max-dp-size": 4}, {}),
    (
        "context-parallel",
        {"tensor-parallel-size": 4, "decode-context-parallel-size": 3},
        {"decode-context-parallel-size": 2},
        {},
    ),
    ("gpus-too-few", {"tensor-parallel-size": 2}, {"tensor-parallel-size": 1}, {"gpu_count": 1}),
    ("gpus-idle", {"tensor-parallel-size": 1}, {"pipeline-parallel-size": 2}, {"gpu_count": 2}),
    ("tensor-parallel-uneven", {"tensor-parallel-size": 3}, {"tensor-parallel-size": 1, "pipeline-parallel-size": 3}, {}),
    ("numa-bind", {"numa-bind-nodes": [0, 1]}, {"numa-bind": True}, {}),
    ("numa-ranges", {"numa-bind": True, "numa-bind-cpus": ["15-0"]}, {"numa-bind-cpus": ["0-15", "16,18-20"]}, {}),
    ("device-ids", {"device-ids": [0, 0]}, {"device-ids": [0, 1]}, {}),
    ("quantization-gpu", {"quantization": "fp_quant", "allow-deprecated-quantization": True}, {"quantization": "awq"}, {"capability": 90}),
    ("bfloat16-gpu", {"dtype": "bfloat16"}, {"dtype": "half"}, {"capability": 75}),
    ("ray-nsight", {"ray-workers-use-nsight": True}, {"distributed-executor-backend": "ray"}, {}),
    ("ray-unencrypted", {"distributed-executor-backend": "ray"}, {"distributed-executor-backend": "mp"}, {}),
    ("nodes-network", {"nnodes": 2, "tensor-parallel-size": 2}, {"nnodes": 1}, {}),
    ("moonep", {"all2all-backend": "moonep", "quantization": "fp8"}, {"quantization": None}, {}),
    ("all2all-removed", {"all2all-backend": "naive"}, {"all2all-backend": "deepep_v2"}, {}),
    ("batch-tokens-seqs", {"max-num-batched-tokens": 64, "max-num-seqs": 128}, {"max-num-seqs": 64}, {}),
    (
        "batch-tokens-length",
        {"enable-chunked-prefill": False, "max-num-batched-tokens": "2k", "max-model-len": "4k"},
        {"max-num-batched-tokens": "4k"},
        {},
    ),
    ("active-seqs", {"max-num-active-seqs": 9, "max-num-seqs": 8}, {"max-num-active-seqs": 8}, {}),
    ("long-prefill", {"long-prefill-token-threshold": 9000, "max-model-len": "8k"}, {"max-model-len": "auto"}, {}),
    ("cache-dtype-model", {"kv-cache-dtype": "float16", "dtype": "bfloat16"}, {"dtype": "half"}, {}),
    (
        "cache-packed",
        {"kv-cache-dtype": "turboquant_k8v4"},
        {"attention-config": {"flash_attn_version": 2}},
        {},
    ),
    (
        "cache-packed-version",
        {"kv-cache-dtype": "turboquant_k8v4", "attention-config": {"flash_attn_version": 3}},
        {"kv-cache-dtype": "fp8"},
        {},
    ),
    ("mamba-block-prefix", {"mamba-block-size": 16, "enable-prefix-caching": False}, {"enable-prefix-caching": True}, {}),
    (
        "mamba-prefix-align",
        {"enable-prefix-caching": True, "mamba-cache-mode": "none"},
        {"mamba-cache-mode": "align"},
        {"release": "0.32.0"},
    ),
    ("offload-prefetch", {"offload-backend": "prefetch"}, {"offload-group-size": 4}, {}),
    ("offload-backend", {"cpu-offload-gb": 8, "offload-group-size": 4}, {"cpu-offload-gb": 0}, {}),
    ("offload-params", {"cpu-offload-params": ["experts.*"]}, {"cpu-offload-gb": 32}, {}),
    ("lora-cpu", {"enable-lora": True, "max-loras": 4, "max-cpu-loras": 2}, {"max-cpu-loras": 4}, {}),
    ("lora-unused", {"max-loras": 4}, {"enable-lora": True}, {}),
    ("memory-twice", {"kv-cache-memory-bytes": "48G", "gpu-memory-utilization": 0.9}, {"gpu-memory-utilization": None}, {}),
    (
        "eager-compilation",
        {"enforce-eager": True, "compilation-config": {"mode": 3}},
        {"compilation-config": {"mode": 0}},
        {},
    ),
    ("kv-offloading-size", {"kv-offloading-backend": "native"}, {"kv-offloading-size": 8}, {}),
    ("speculative-twice", {**DFLASH, "speculative-config": {"method": "dflash"}}, {"speculative-config": {"attention_backend": "FLASH_ATTN"}}, {}),
    (
        "speculative-tensor-parallel",
        {**DFLASH, "speculative-config": {"tensor_parallel_size": 1}},
        {"speculative-config": {"draft_tensor_parallel_size": 1}},
        {},
    ),
    (
        "speculative-draft-parallel",
        {**DFLASH, "tensor-parallel-size": 4, "speculative-config": {"draft_tensor_parallel_size": 2}},
        {"tensor-parallel-size": 2},
        {},
    ),
    (
        "speculative-context",
        {**DFLASH, "max-model-len": 4096, "speculative-config": {"max_model_len": 8192}},
        {"max-model-len": 8192},
        {},
    ),
    ("speculative-model", {"spec-method": "dflash", "spec-tokens": 8}, DFLASH, {}),
    ("speculative-tokens", {"spec-method": "ngram"}, {"spec-tokens": 4}, {}),
    ("speculative-tokens-default", {**DFLASH, "spec-tokens": None}, DFLASH, {}),
    (
        "speculative-lookup",
        {"speculative-config": {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_min": 5, "prompt_lookup_max": 2}},
        {"speculative-config": {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_min": 2, "prompt_lookup_max": 5}},
        {},
    ),
    ("speculative-class", {"spec-method": "custom_class", "spec-tokens": 2, "spec-model": "Mine"}, {"spec-model": "mine.Mine"}, {}),
    ("speculative-suffix", {"spec-method": "suffix", "spec-tokens": 4}, {"spec-method": "ngram"}, {}),
    (
        "speculative-vocabulary",
        {**DFLASH, "speculative-config": {"use_heterogeneous_vocab": True}},
        {"spec-method": "draft_model"},
        {},
    ),
    (
        "speculative-synthetic",
        {**DFLASH, "speculative-config": {"rejection_sample_method": "synthetic"}},
        {"speculative-config": {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 2.0}},
        {},
    ),
    (
        "speculative-fly",
        {**DFLASH, "spec-tokens": 1, "speculative-config": {"rejection_sample_method": "fly"}},
        {"spec-tokens": 4},
        {},
    ),
    (
        "speculative-lora",
        {**DFLASH, "enable-lora": True, "max-num-batched-tokens": 256, "max-num-seqs": 32},
        {"max-num-batched-tokens": 288},
        {},
    ),
    ("speculative-metrics", {"per-request-spec-decode-metrics": "summary"}, DFLASH, {}),
    (
        "speculative-runner",
        {"spec-method": "suffix", "spec-tokens": 4},
        {"spec-method": "ngram"},
        {"env": {"VLLM_USE_V2_MODEL_RUNNER": "1"}},
    ),
    (
        "speculative-adaptive",
        {**DFLASH, "enforce-eager": True, "speculative-config": {"enable_adaptive_verification": True}},
        {"enforce-eager": False},
        {},
    ),
    ("speculative-drafter", {**DFLASH}, {**DFLASH, "spec-model": "z-lab/model-DFlash"}, {}),
    (
        "async-scheduling",
        {"async-scheduling": True, "spec-method": "ngram", "spec-tokens": 4},
        {"spec-method": "ngram_gpu"},
        {"release": "0.26.0"},
    ),
    ("set-twice", {"attention-backend": "FLASH_ATTN", "attention-config": {"backend": "FLASHINFER"}}, {"attention-config": {}}, {}),
    ("set-twice-wins", {"moe-backend": "triton", "kernel-config": {"moe_backend": "marlin"}}, {"kernel-config": {}}, {}),
    ("capture-sizes", {"cudagraph-capture-sizes": [1, 2, 4], "max-cudagraph-capture-size": 8}, {"max-cudagraph-capture-size": 4}, {}),
    (
        "kv-connector-unknown",
        {"kv-transfer-config": {"kv_connector": "NixlConector", "kv_role": "kv_both"}},
        {"kv-transfer-config": {"kv_connector": "NixlConnector", "kv_role": "kv_both"}},
        {},
    ),
    (
        "kv-load-failure",
        {"kv-transfer-config": {"kv_connector": "NixlConnector", "kv_role": "kv_both"}},
        {"kv-transfer-config": {"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_load_failure_policy": "fail"}},
        {},
    ),
    ("traces-endpoint", {"collect-detailed-traces": ["all"]}, {"otlp-traces-endpoint": "http://127.0.0.1:4317"}, {}),
    ("mm-shm-cache", {"mm-shm-cache-max-object-size-mb": 64}, {"mm-processor-cache-type": "shm"}, {}),
    ("mm-encoder-scales", {"mm-encoder-fp8-scale-path": "/s.json"}, {"mm-encoder-attn-dtype": "fp8"}, {}),
    ("mm-tensor-ipc", {"mm-tensor-ipc": "torch_shm"}, {"mm-tensor-ipc": "direct_rpc"}, {}),
    ("mamba-algorithm", {"mamba-ssu-algorithm": "simple"}, {"mamba-backend": "flashinfer"}, {}),
    ("mamba-rounding", {"enable-mamba-cache-stochastic-rounding": True}, {"mamba-ssm-cache-dtype": "float16"}, {}),
    ("quantization-deprecated", {"quantization": "fp_quant"}, {"allow-deprecated-quantization": True}, {}),
    (
        "routed-experts",
        {"enable-return-routed-experts": True, "enable-prefix-caching": False},
        {"enable-prefix-caching": True},
        {},
    ),
    ("environ-validation-image", {"fail-on-environ-validation": True}, {"fail-on-environ-validation": False}, {"release": "0.24.0"}),
    ("bucket-format", {"load-format": "safetensors"}, {"load-format": "runai_streamer"}, {"model": "s3://bucket/model"}),
    ("remote-code", {"trust-remote-code": True}, {"revision": "0123abc"}, {}),
    ("generation-config", {"override-generation-config": {"temperature": 0.6}}, {"generation-config": "vllm"}, {}),
    ("generation-limit", {"override-generation-config": {"max_tokens": 100}}, {"override-generation-config": {}}, {}),
    ("chunked-prefill-off", {"enable-chunked-prefill": False}, {"runner": "pooling"}, {}),
    (
        "lm-format-enforcer",
        {"structured-outputs-config": {"backend": "lm-format-enforcer"}},
        {"structured-outputs-config": {"backend": "xgrammar"}},
        {},
    ),
    ("origins-credentials", {"allow-credentials": True, "allowed-origins": ["*"]}, {"allowed-origins": ["https://a.example"]}, {}),
    ("heads-tensor-parallel", {"tensor-parallel-size": 8}, {"tensor-parallel-size": 4}, {"config": DENSE}),
    ("context-parallel-heads", {"tensor-parallel-size": 4, "decode-context-parallel-size": 2}, {"decode-context-parallel-size": 1}, {"config": DENSE}),
    ("model-length", {"max-model-len": "8k"}, {"max-model-len": "4k"}, {"config": DENSE}),
    ("cache-dtype-model", {"kv-cache-dtype": "float16"}, {"kv-cache-dtype": "bfloat16"}, {"config": DENSE}),
    ("cache-nvfp4-mla", {"kv-cache-dtype": "nvfp4"}, {"kv-cache-dtype": "nvfp4_ds_mla"}, {"config": MLA}),
    ("quantization-checkpoint", {"quantization": "awq"}, {"quantization": "fp8"}, {"config": {**DENSE, "quantization_config": {"quant_method": "fp8"}}}),
    ("mm-loras", {"default-mm-loras": {"audio": "/l"}}, {"default-mm-loras": None}, {"config": DENSE}),
    ("routed-experts-dense", {"enable-return-routed-experts": True}, {"enable-return-routed-experts": False}, {"config": DENSE}),
    ("hybrid-prefix", {"enable-prefix-caching": True}, {"mamba-cache-mode": "align"}, {"config": HYBRID, "release": "0.32.0"}),
    ("experts-missing", {"enable-expert-parallel": True}, {"enable-expert-parallel": False}, {"config": DENSE}),
    ("external-dense", EXTERNAL, {"data-parallel-size": 1}, {"config": DENSE}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "options", "kept", "rest"), ROWS, ids=[row[0] for row in ROWS])
def test_a_broken_rule_is_found_and_its_neighbour_is_not(
    code: str, options: dict[str, Any], kept: dict[str, Any], rest: dict[str, Any]
) -> None:
    broken = {name: value for name, value in options.items() if value is not None}
    fixed = {name: value for name, value in {**options, **kept}.items() if value is not None}
    assert code in codes(broken, **rest)
    assert code not in codes(fixed, **rest)


def test_every_rule_has_a_row() -> None:
    # These two depend on the environment alone, and have their rows in test_environment.py.
    elsewhere = {"dev-mode", "dev-mode-local"}
    assert {rule.code for rule in (*RULES, *MODEL_RULES)} == {row[0] for row in ROWS} | elsewhere


def test_a_rule_is_silent_before_its_release() -> None:
    options = {"max-num-active-seqs": 9, "max-num-seqs": 8}
    assert "active-seqs" in codes(options, release="0.31.0")
    assert "active-seqs" not in codes(options, release="0.30.0")


def test_a_mixture_of_experts_may_balance_from_outside() -> None:
    assert "external-dense" not in codes(EXTERNAL, config=MOE)


@pytest.mark.parametrize(
    ("config", "longest"),
    [
        pytest.param({"max_position_embeddings": 2048}, 2048, id="plain"),
        pytest.param({"text_config": {"max_position_embeddings": 1024}}, 1024, id="text-part"),
        pytest.param(
            {"max_position_embeddings": 1000, "rope_scaling": {"type": "linear", "factor": 4.0}},
            4000,
            id="linear",
        ),
        pytest.param(
            {"max_position_embeddings": 4000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
            4000,
            id="yarn",
        ),
        pytest.param({}, 0, id="unknown"),
    ],
)
def test_the_longest_context_follows_config_json(config: dict[str, Any], longest: int) -> None:
    options = {"max-model-len": longest + 1 if longest else 10**6}
    assert ("model-length" in codes(options, config=config)) == bool(longest)


def test_without_config_json_one_note_says_what_was_not_checked() -> None:
    invocation = Invocation(
        model="a/b", release="0.33", options={"tensor-parallel-size": 2, "max-model-len": 4096}
    )
    notes = [finding for finding in check(invocation) if finding.code == "model-unknown"]
    assert [finding.message for finding in notes] == [
        "not checked without config.json: whether tensor-parallel-size, max-model-len fits the model"
    ]


@pytest.mark.parametrize("value", ["", "None", -1, 0, True, [], {}, ["", "None"], "x", 10**9, {"a": None}])
def test_no_value_of_any_option_makes_a_rule_fall_over(value: Any) -> None:
    for release in ("0.20.2", "0.33.0"):
        for name in load(release).options:
            codes({name: value}, release=release, config=DENSE, gpu_count=1)


@pytest.mark.parametrize(("inside", "found"), [(["a"], True), ([], False)], ids=["same", "empty"])
def test_an_operation_gets_its_order_once(inside: list[str], found: bool) -> None:
    options = {
        "ir-op-priority": {"rms_norm": ["b"]},
        "kernel-config": {"ir_op_priority": {"rms_norm": inside}},
    }
    assert ("set-twice" in codes(options)) == found


def test_a_checkpoint_that_the_gpu_is_too_old_for_is_refused() -> None:
    config = {**DENSE, "quantization_config": {"quant_method": "mxfp4"}}
    assert "quantization-gpu" in codes({}, config=config, capability=75)
    assert "quantization-gpu" not in codes({}, config=config, capability=90)
