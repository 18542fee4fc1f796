"""Many options of all types at once reach the real `vllm serve`, and take effect."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest

from testhost import tiny_service
from testhost.places import MODELS

if TYPE_CHECKING:
    from .conftest import BootedHost

QUADGEN = "/src/scripts/quadgen"
# One of each kind that the catalog knows: flags, both forms of booleans, numbers, sizes, text with line ends and
# quotes, choices, lists, JSON as a table and as dotted keys.
SERVE = r'''
serve.max-model-len = "256"
serve.seed = 7
serve.max-num-seqs = 4
serve.max-num-batched-tokens = "1k"
serve.gpu-memory-utilization = 0.50
serve.enable-prefix-caching = true
serve.prefix-caching-hash-algo = "sha256"
serve.enable-chunked-prefill = true
serve.scheduling-policy = "priority"
serve.async-scheduling = false
serve.stream-interval = 2
serve.enable-log-requests = true
serve.enable-log-outputs = true
serve.max-log-len = 100
serve.uvicorn-log-level = "info"
serve.disable-uvicorn-access-log = false
serve.disable-access-log-for-endpoints = "/health,/metrics"
serve.disable-fastapi-docs = true
serve.enable-server-load-tracking = true
serve.enable-prompt-tokens-details = true
serve.enable-force-include-usage = true
serve.enable-tokenizer-info-endpoint = true
serve.return-tokens-as-token-ids = true
serve.response-role = "assistant"
serve.chat-template = """{% for message in messages %}
{{ message['role'] }}: "{{ message['content'] }}" 100% $HOME
{% endfor %}"""
serve.chat-template-content-format = "string"
serve.trust-request-chat-template = false
serve.default-chat-template-kwargs = { enable_thinking = true }
serve.allowed-origins = ["http://localhost", "https://x.example"]
serve.allow-credentials = true
serve.generation-config = "vllm"
serve.override-generation-config = { temperature = 0.5, top_k = 3 }
serve.max-logprobs = 5
serve.logprobs-mode = "raw_logprobs"
serve.tokenizer-mode = "auto"
serve.model-impl = "auto"
serve.load-format = "safetensors"
serve.use-tqdm-on-load = false
serve.tensor-parallel-size = 1
serve.pipeline-parallel-size = 1
serve.disable-custom-all-reduce = true
serve.enable-lora = true
serve.lora-modules = ["extra=MODELS/tiny-lora"]
serve.max-loras = 1
serve.max-cpu-loras = 2
serve.max-lora-rank = 8
serve."compilation-config.mode" = 0
serve.structured-outputs-config = { backend = "xgrammar", disable_any_whitespace = true }
serve.shutdown-timeout = 5
serve.h11-max-header-count = 300
serve.enable-auto-tool-choice = true
serve.tool-call-parser = "hermes"
serve.reasoning-parser = "qwen3"
serve.root-path = "/behind"
'''.replace("MODELS", str(MODELS))


def spec() -> str:
    names = r'["many", "a \"second\" name; 100% $HOME"]'
    return tiny_service("vllm-many", '"127.0.0.1:8022"', SERVE, names=names)


@pytest.mark.vllm
def test_at_least_40_options_at_once_take_effect(host: BootedHost) -> None:
    assert len(tomllib.loads(SERVE)["serve"]) >= 40
    host.user("sh", "-c", "cat >~/many.toml <<'END'\n" + spec() + "END\n")
    try:
        host.user(QUADGEN, "install", "--file", "/home/user/many.toml")
        host.user("systemctl", "--user", "start", "vllm-many", timeout=400)
        models = json.loads(host.user("curl", "--silent", "http://127.0.0.1:8022/v1/models"))["data"]
        assert [model["id"] for model in models] == ["many", 'a "second" name; 100% $HOME', "extra"]
        assert models[0]["max_model_len"] == 256
        metrics = host.user("curl", "--silent", "http://127.0.0.1:8022/metrics")
        cache = next(line for line in metrics.splitlines() if line.startswith("vllm:cache_config_info{"))
        for label in (
            'enable_prefix_caching="True"',
            'gpu_memory_utilization="0.5"',
            'prefix_caching_hash_algo="sha256"',
        ):
            assert label in cache
        question = {"model": "many", "max_tokens": 2, "messages": [{"role": "user", "content": "a"}]}
        words = ["--header", "Content-Type: application/json", "--data", json.dumps(question)]
        answer = json.loads(
            host.user("curl", "--silent", *words, "http://127.0.0.1:8022/behind/v1/chat/completions")
        )
        assert answer["usage"]["completion_tokens"] == 2
        log = host.user("journalctl", "--user", "--unit=vllm-many", "--no-pager", "--output=cat")
        given = next(line for line in log.splitlines() if "non-default args:" in line)
        for words in (
            "'seed': 7",
            "'max_num_batched_tokens': 1000",
            "'scheduling_policy': 'priority'",
            "'shutdown_timeout': 5",
        ):
            assert words in given
    finally:
        host.user(
            "sh",
            "-c",
            f"systemctl --user stop vllm-many; {QUADGEN} uninstall --file ~/many.toml; rm ~/many.toml",
        )
