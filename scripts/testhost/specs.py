"""Services as a spec says them: the real `vllm serve` with the tiny model, and a stub in its place.

They are functions because the folder of the environment's Python is known only once it is made.
"""

from __future__ import annotations

from .images import BASE_IMAGE, VLLM_IMAGE
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


def stub_service(name: str, listen: str, more: str, *, image: str = BASE_IMAGE, volume: str = "") -> str:
    """A service whose server is `tests/host/stub_vllm.py`, which does what its environment says."""
    volumes = [f"{base_prefix()}:{base_prefix()}:ro", "/src/tests/host:/stub:ro", *filter(None, [volume])]
    accelerator = "" if "accelerator" in more else 'accelerator = "none"'
    return f"""
[service.{name}]
model = "org/stub"
image = "{image}"
vllm = "{VLLM_VERSION}"
entrypoint = ["{base_prefix()}/bin/python3.11", "-u", "/stub/stub_vllm.py"]
served-name = "tiny"
offline = true
start-on-boot = false
listen = {listen}
volumes = {volumes}
{accelerator}
{more}
"""
