"""Commands that people published: each gets the answer that its author needed."""

from __future__ import annotations

from typing import Any

import pytest

from quadgen.errors import SpecError
from quadgen.vllm.argv import Invocation, argv
from quadgen.vllm.check import check

SPECULATIVE = {"method": "qwen3_next_mtp", "num_speculative_tokens": 2}
MODEL = "Qwen/Qwen3.6-35B-A3B"
DRAFTER = "z-lab/Qwen3.6-35B-A3B-DFlash"


def invocation(**fields: Any) -> Invocation:
    return Invocation(**{"model": "some/model", "release": "0.33.0", **fields})


def errors(**fields: Any) -> list[str]:
    return [finding.code for finding in check(invocation(**fields)) if finding.severity == "error"]


GOOD = [
    pytest.param(
        {
            "model": MODEL,
            "release": "0.26.0",
            "options": {
                "spec-method": "dflash",
                "spec-model": DRAFTER,
                "spec-tokens": 8,
                "kv-cache-dtype": "fp8",
                "max-num-seqs": 32,
                "tensor-parallel-size": 1,
                "gpu-memory-utilization": 0.9,
            },
        },
        f"{MODEL} --spec-method dflash --spec-model {DRAFTER} --spec-tokens 8 --kv-cache-dtype fp8"
        " --max-num-seqs 32 --tensor-parallel-size 1 --gpu-memory-utilization 0.9",
        id="seed-1-complete-example",
    ),
    pytest.param(
        {
            "model": MODEL,
            "release": "0.26.0",
            "options": {"cpu-offload-gb": 32, "cpu-offload-params": ["experts.*"]},
        },
        f"{MODEL} --cpu-offload-gb 32 --cpu-offload-params experts.*",
        id="seed-1-offload-experts",
    ),
    pytest.param(
        {"options": {"attention-config": {"flash_attn_version": 2}}},
        'some/model --attention-config {"flash_attn_version":2}',
        id="seed-2-dotted-flag-as-table",
    ),
    pytest.param(
        {"options": {"attention-config.flash_attn_version": 2}},
        'some/model --attention-config {"flash_attn_version":2}',
        id="seed-2-dotted-flag",
    ),
    pytest.param(
        {"release": "0.32.0", "options": {"enable-prefix-caching": True, "mamba-cache-mode": "align"}},
        "some/model --enable-prefix-caching --mamba-cache-mode align",
        id="seed-2-aligned-prefix-state",
    ),
    pytest.param(
        {"options": {"tensor-parallel-size": 1, "pipeline-parallel-size": 4}, "gpu_count": 4},
        "some/model --tensor-parallel-size 1 --pipeline-parallel-size 4",
        id="seed-2-pipeline-for-unlinked-gpus",
    ),
    pytest.param(
        {"options": {"max-model-len": "auto"}}, "some/model --max-model-len auto", id="seed-2-auto-length"
    ),
    pytest.param(
        {"options": {"speculative-config": SPECULATIVE}},
        'some/model --speculative-config {"method":"qwen3_next_mtp","num_speculative_tokens":2}',
        id="A1-json-flag",
    ),
    pytest.param(
        {"model": "openai/gpt-oss-120b", "options": {"compilation-config": {"mode": 3}, "port": 8000}},
        'openai/gpt-oss-120b --compilation-config {"mode":3} --port 8000',
        id="A3-compilation-mode",
    ),
    pytest.param(
        {
            "release": "0.20.2",
            "options": {
                "hf-overrides": {
                    "rope_scaling": {
                        "rope_type": "yarn",
                        "factor": 4.0,
                        "original_max_position_embeddings": 32768,
                    }
                }
            },
        },
        'some/model --hf-overrides {"rope_scaling":{"rope_type":"yarn","factor":4.0,'
        '"original_max_position_embeddings":32768}}',
        id="A7-what-replaces-rope-scaling",
    ),
    pytest.param(
        {"options": {"enable-lora": True, "max-lora-rank": 64, "lora-modules": ["a=/lora/a", "b=/lora/b"]}},
        "some/model --enable-lora --max-lora-rank 64 --lora-modules a=/lora/a b=/lora/b",
        id="D10-one-flag-with-several-modules",
    ),
    pytest.param(
        {
            "release": "0.29.0",
            "model": "google/gemma-4-12B",
            "served_names": ("gemma",),
            "options": {"language-model-only": True, "max-model-len": 32768, "gpu-memory-utilization": 0.92},
        },
        "google/gemma-4-12B --served-model-name gemma --language-model-only --max-model-len 32768"
        " --gpu-memory-utilization 0.92",
        id="13-1-dotfiles",
    ),
    pytest.param(
        {
            "release": "0.25.1",
            "model": "/opt/models/gemma",
            "options": {
                "enable-auto-tool-choice": True,
                "enable-chunked-prefill": True,
                "enable-prefix-caching": True,
                "kv-cache-dtype": "bfloat16",
                "kv-cache-memory-bytes": "48G",
                "max-model-len": 262144,
                "max-num-batched-tokens": 32768,
                "tensor-parallel-size": 1,
                "tool-call-parser": "gemma4",
                "reasoning-parser": "gemma4",
                "default-chat-template-kwargs": {"enable_thinking": True, "preserve_thinking": True},
                "speculative-config": {"model": "/opt/models/draft", "num_speculative_tokens": 4},
            },
        },
        "/opt/models/gemma --enable-auto-tool-choice --enable-chunked-prefill --enable-prefix-caching"
        " --kv-cache-dtype bfloat16 --kv-cache-memory-bytes 48G --max-model-len 262144"
        " --max-num-batched-tokens 32768 --tensor-parallel-size 1 --tool-call-parser gemma4"
        ' --reasoning-parser gemma4 --default-chat-template-kwargs {"enable_thinking":true,"preserve_thinking":true}'
        ' --speculative-config {"model":"/opt/models/draft","num_speculative_tokens":4}',
        id="13-2-fleet",
    ),
    pytest.param(
        {
            "release": "0.33.0",
            "model": "/opt/models/nvfp4-30b",
            "options": {
                "generation-config": "auto",
                "gpu-memory-utilization": 0.73,
                "max-num-seqs": 8,
                "speculative-config": {"method": "dflash", "model": "/opt/d", "num_speculative_tokens": 4},
            },
        },
        "/opt/models/nvfp4-30b --generation-config auto --gpu-memory-utilization 0.73 --max-num-seqs 8"
        ' --speculative-config {"method":"dflash","model":"/opt/d","num_speculative_tokens":4}',
        id="13-3-dflash",
    ),
    pytest.param(
        {
            "release": "0.20.2",
            "gpu_count": 4,
            "options": {
                "tensor-parallel-size": 4,
                "max-model-len": 32768,
                "disable-custom-all-reduce": True,
                "enable-auto-tool-choice": True,
                "reasoning-parser": "qwen3",
                "tool-call-parser": "qwen3_coder",
            },
        },
        "some/model --tensor-parallel-size 4 --max-model-len 32768 --disable-custom-all-reduce"
        " --enable-auto-tool-choice --reasoning-parser qwen3 --tool-call-parser qwen3_coder",
        id="13-4-four-cards",
    ),
    pytest.param(
        {
            "options": {
                "gpu-memory-utilization": 0.4,
                "max-model-len": 4096,
                "limit-mm-per-prompt": {"audio": 5},
            }
        },
        'some/model --gpu-memory-utilization 0.4 --max-model-len 4096 --limit-mm-per-prompt {"audio":5}',
        id="13-5-audio",
    ),
    pytest.param(
        {"options": {"generation-config": "vllm"}}, "some/model --generation-config vllm", id="13-6-bootc"
    ),
    pytest.param(
        {"options": {"max-model-len": 16384, "host": "::"}},
        "some/model --max-model-len 16384 --host ::",
        id="13-7-ipv6",
    ),
    pytest.param(
        {
            "gpu_count": 2,
            "options": {
                "tensor-parallel-size": 2,
                "max-num-seqs": 4,
                "max-num-batched-tokens": 16384,
                "attention-backend": "TRITON_ATTN",
                "speculative-config": {"method": "mtp", "num_speculative_tokens": 1},
                "compilation-config": {"pass_config": {"fuse_norm_quant": False}},
            },
        },
        "some/model --tensor-parallel-size 2 --max-num-seqs 4 --max-num-batched-tokens 16384"
        ' --attention-backend TRITON_ATTN --speculative-config {"method":"mtp","num_speculative_tokens":1}'
        ' --compilation-config {"pass_config":{"fuse_norm_quant":false}}',
        id="13-8-gfx1201",
    ),
    pytest.param(
        {"revision": "abc", "served_names": ("org/name",), "options": {"quantization": "awq_marlin"}},
        "some/model --served-model-name org/name --quantization awq_marlin",
        id="13-9-name-with-slash",
    ),
    pytest.param(
        {"options": {"attention-backend": "CUSTOM", "enforce-eager": True, "max-model-len": 6144}},
        "some/model --attention-backend CUSTOM --enforce-eager --max-model-len 6144",
        id="13-10-custom-backend",
    ),
    pytest.param(
        {"options": {"tensor-parallel-size": 2, "max-num-batched-tokens": 2048}, "gpu_count": 2},
        "some/model --tensor-parallel-size 2 --max-num-batched-tokens 2048",
        id="13-11-red-hat",
    ),
    pytest.param(
        {"options": {"tp": 1, "max-model-len": 3072, "max-num-seqs": 16, "max-num-batched-tokens": 512}},
        "some/model --tensor-parallel-size 1 --max-model-len 3072 --max-num-seqs 16 --max-num-batched-tokens 512",
        id="13-12-short-name",
    ),
    pytest.param(
        {
            "release": "0.22.0",
            "gpu_count": 2,
            "served_names": ("a", "b"),
            "options": {
                "tensor-parallel-size": 2,
                "pipeline-parallel-size": 1,
                "override-generation-config": {"temperature": 0.6, "top_p": 0.95, "top_k": 20},
            },
        },
        "some/model --served-model-name a b --tensor-parallel-size 2 --pipeline-parallel-size 1"
        ' --override-generation-config {"temperature":0.6,"top_p":0.95,"top_k":20}',
        id="13-13-two-names",
    ),
    pytest.param(
        {
            "release": "0.17.0",
            "served_names": ("a", "b", "c", "d", "e"),
            "options": {"max-num-seqs": 128, "kv-cache-dtype": "fp8", "enable-prefix-caching": False},
        },
        "some/model --served-model-name a b c d e --max-num-seqs 128 --kv-cache-dtype fp8 --no-enable-prefix-caching",
        id="13-14-release-without-catalog",
    ),
    pytest.param(
        {
            "options": {
                "max-num-seqs": 1,
                "default-chat-template-kwargs": {"preserve_thinking": True, "reasoning_effort": "medium"},
            }
        },
        "some/model --max-num-seqs 1 --default-chat-template-kwargs"
        ' {"preserve_thinking":true,"reasoning_effort":"medium"}',
        id="13-15-gb10",
    ),
]


@pytest.mark.parametrize(("fields", "words"), GOOD)
def test_a_good_command_becomes_its_words(fields: dict[str, Any], words: str) -> None:
    given = invocation(**fields)
    assert " ".join(argv(given)) == words
    assert [finding for finding in check(given) if finding.severity == "error"] == []


BAD = [
    pytest.param({"options": {"kv-cache-dtype": "q8_0"}}, "value-unknown", "fp8", id="seed-1-q8_0-0.33"),
    pytest.param(
        {"release": "0.26.0", "options": {"kv-cache-dtype": "q8_0"}}, "value-choice", "fp8", id="seed-1-q8_0-0.26"
    ),
    pytest.param(
        {"release": "0.26.0", "options": {"kv-cache-dtype": "nvfp4_4over6"}}, "value-choice", "nvfp4", id="seed-1-nvfp4"
    ),
    pytest.param(
        {"options": {"expert-offload-cpu": True}}, "option-unknown", "cpu-offload-params", id="seed-1-no-such-flag"
    ),
    pytest.param({"options": {"spec-method": "dflash", "spec-tokens": 8}}, "speculative-model", "spec-model", id="seed-1-no-drafter"),
    pytest.param({"options": {"convert": "reward"}}, "value-choice", "embed", id="seed-2-reward"),
    pytest.param({"options": {"swap-space": 4}}, "option-removed", "kv-offloading-size", id="seed-2-swap-space"),
    pytest.param({"options": {"num-lookahead-slots": 4}}, "option-removed", "", id="seed-2-lookahead"),
    pytest.param(
        {"options": {"speculative-config": r"\{\"method\"\:\"mtp\"\}"}},
        "value-json",
        "TOML table",
        id="A1-escaped-twice",
    ),
    pytest.param(
        {"options": {"speculative-config": "{method: mtp, num_speculative_tokens: 2}"}},
        "value-json",
        "TOML table",
        id="A1-quotes-lost",
    ),
    pytest.param(
        {"model": "bash -c vllm serve openai/gpt-oss-120b"}, "model-name", "options go into serve", id="A3-shell"
    ),
    pytest.param({"model": "vllm serve /models/m"}, "command-leftover", "", id="A5-served-twice"),
    pytest.param({"options": {"vllm serve": True}}, "command-leftover", "", id="A5-in-options"),
    pytest.param({"options": {"rope-scaling": {"rope_type": "yarn"}}}, "option-removed", "hf-overrides", id="A7-rope"),
    pytest.param({"options": {"speculative-model": "a/b"}}, "option-removed", "speculative-config.model", id="A7-speculative-model"),
    pytest.param({"options": {"num-speculative-tokens": 4}}, "option-removed", "speculative-config.num_speculative_tokens", id="A7-speculative-tokens"),
    pytest.param({"options": {"use-v2-block-manager": True}}, "option-", "", id="A7-block-manager"),
    pytest.param({"options": {"device": "cpu"}}, "option-", "", id="A7-device"),
    pytest.param({"options": {"p": "8000:8000"}}, "option-of-podman", "listen", id="A11-publish"),
    pytest.param({"options": {"limit-mm-per-prompt": "audio=5"}}, "value-json", "TOML table", id="13-5-old-syntax"),
    pytest.param(
        {"options": {"kv-transfer-config": {"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_rank": 0}}},
        "json-key",
        "known keys",
        id="kv-rank-gone-in-0.32",
    ),
    pytest.param({"options": {"allowed-origins": "*"}}, "value-json", "", id="F10-star-alone"),
    pytest.param({"env": {"HUGGING_FACE_HUB_TOKEN": "hf_your_token_here"}}, "secret-in-plain-text", "", id="B5-token"),
    pytest.param({"env": {"MODEL_HOME": "<path>"}}, "placeholder", "real value", id="B5-placeholder"),
    pytest.param({"env": {"VLLM_PORT": "8000"}, "options": {"port": 8000}}, "vllm-port", "listen", id="B8-port"),
    pytest.param({"env": {"VLLM_PORT": "tcp://10.0.0.1:8000"}}, "vllm-port", "", id="B8-service-address"),
    pytest.param({"options": {"lora-modules": ["a=/lora/a"]}}, "lora-enable", "enable-lora", id="D10-lora-off"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "code", "remedy"), BAD)
def test_a_bad_command_is_refused_with_the_way_out(fields: dict[str, Any], code: str, remedy: str) -> None:
    found = [finding for finding in check(invocation(**fields)) if finding.severity == "error"]
    assert any(finding.code.startswith(code) and remedy in finding.remedy for finding in found), found


def test_variables_that_options_replaced_say_which() -> None:
    findings = check(invocation(env={"VLLM_ATTENTION_BACKEND": "FLASHINFER"}))
    assert [(finding.code, finding.remedy) for finding in findings] == [
        ("env-removed", "use `attention-backend`")
    ]


def test_words_that_cannot_be_right_are_never_given() -> None:
    with pytest.raises(SpecError, match="kv-cache-dtype"):
        argv(invocation(release="0.26.0", options={"kv-cache-dtype": "q8_0"}))
