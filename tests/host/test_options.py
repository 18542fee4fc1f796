"""Many options of all types at once reach the real `vllm serve`, and take effect."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest

from testhost import VLLM_IMAGE, base_prefix
from testhost.places import MODELS, VLLM

if TYPE_CHECKING:
    from .conftest import BootedHost

QUADGEN = "/src/scripts/quadgen"
# One of each kind that the catalog knows: flags, both forms of booleans, numbers, sizes, text with line ends and
# quotes, choices, lists, JSON as a table and as dotted keys.
SERVE = r'''
max-model-len = "256"
dtype = "float32"
enforce-eager = true
seed = 7
max-num-seqs = 4
max-num-batched-tokens = "1k"
gpu-memory-utilization = 0.50
enable-prefix-caching = true
prefix-caching-hash-algo = "sha256"
enable-chunked-prefill = true
scheduling-policy = "priority"
async-scheduling = false
stream-interval = 2
enable-log-requests = true
enable-log-outputs = true
max-log-len = 100
uvicorn-log-level = "info"
disable-uvicorn-access-log = false
disable-access-log-for-endpoints = "/health,/metrics"
disable-fastapi-docs = true
enable-server-load-tracking = true
enable-prompt-tokens-details = true
enable-force-include-usage = true
enable-tokenizer-info-endpoint = true
return-tokens-as-token-ids = true
response-role = "assistant"
chat-template = """{% for message in messages %}
{{ message['role'] }}: "{{ message['content'] }}" 100% $HOME
{% endfor %}"""
chat-template-content-format = "string"
trust-request-chat-template = false
default-chat-template-kwargs = { enable_thinking = true }
allowed-origins = ["http://localhost", "https://x.example"]
allow-credentials = true
generation-config = "vllm"
override-generation-config = { temperature = 0.5, top_k = 3 }
max-logprobs = 5
logprobs-mode = "raw_logprobs"
tokenizer-mode = "auto"
model-impl = "auto"
load-format = "safetensors"
use-tqdm-on-load = false
tensor-parallel-size = 1
pipeline-parallel-size = 1
disable-custom-all-reduce = true
enable-lora = true
lora-modules = ["extra=MODELS/tiny-lora"]
max-loras = 1
max-cpu-loras = 2
max-lora-rank = 8
"compilation-config.mode" = 0
structured-outputs-config = { backend = "xgrammar", disable_any_whitespace = true }
shutdown-timeout = 5
h11-max-header-count = 300
enable-auto-tool-choice = true
tool-call-parser = "hermes"
reasoning-parser = "qwen3"
root-path = "/behind"
'''.replace("MODELS", str(MODELS))


def spec() -> str:
    """The spec; where vLLM lies is known only once it is installed."""
    return f"""
[service.vllm-many]
model = "{MODELS}/tiny"
image = "{VLLM_IMAGE}"
vllm = "0.32.0"
served-name = ["many", "a \\"second\\" name; 100% $HOME"]
accelerator = "none"
offline = true
listen = "127.0.0.1:8022"
volumes = ["{VLLM}:{VLLM}:ro", "{base_prefix()}:{base_prefix()}:ro"]
env.VLLM_CPU_KVCACHE_SPACE = 1
[service.vllm-many.serve]
{SERVE}
"""


@pytest.mark.vllm
def test_at_least_40_options_at_once_take_effect(host: BootedHost) -> None:
    assert len(tomllib.loads(SERVE)) >= 40
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
