"""The real `vllm serve` with the tiny model, as a spec says it.

It is a function because the folder of the environment's Python is known only once it is made.
"""

from __future__ import annotations

from .images import VLLM_IMAGE
from .places import MODELS, VLLM, VLLM_VERSION
from .vllm_environment import base_prefix


def tiny_service(name: str, listen: str, more: str, *, names: str = '"tiny"') -> str:
    """A service of the real server, which answers within seconds; `more` ends in `serve` keys."""
    return f"""
[service.{name}]
model = "{MODELS}/tiny"
image = "{VLLM_IMAGE}"
vllm = "{VLLM_VERSION}"
served-name = {names}
accelerator = "none"
offline = true
listen = {listen}
volumes = ["{VLLM}:{VLLM}:ro", "{base_prefix()}:{base_prefix()}:ro"]
env.VLLM_CPU_KVCACHE_SPACE = 1
serve.enforce-eager = true
serve.dtype = "float32"
{more}
"""
