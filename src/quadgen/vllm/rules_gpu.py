"""Rules that need the generation of the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quadgen.vllm import names
from quadgen.vllm.model_config import Model
from quadgen.vllm.rule import Rule

if TYPE_CHECKING:
    from quadgen.vllm.rule import Settings

# bfloat16 arithmetic came with this generation (vllm/platforms/cuda.py).
_BFLOAT16: Final = 80


def needed_capability(method: str, release: str) -> int:
    """The lowest compute capability that a quantization method takes, 75 for 7.5; 0 for any or unknown.

    Args:
        method: The method, as vLLM names it.
        release: One of `catalog.RELEASES`.
    """
    rows = (row.rsplit(" ", 1) for row in names.known("quantization-capability", release))
    return next((int(lowest) for name, lowest in rows if name == method), 0)


def _too_old(s: Settings, method: str) -> bool:
    capability = s.invocation.capability
    return capability is not None and capability < needed_capability(method, s.release)


def _checkpoint(s: Settings) -> str:
    return "" if s.given("quantization") else Model(s.invocation.config or {}).quantization


RULES: Final = (
    Rule(
        fact="seed 2",
        code="quantization-gpu",
        about=("quantization",),
        broken=lambda s: _too_old(s, str(s.get("quantization"))),
        message='the GPU is older than quantization "{quantization}" needs',
        remedy="take another method, or a checkpoint that is quantized in another way",
        reason="vLLM compares the compute capability with the least that the method takes",
    ),
    Rule(
        fact="seed 2",
        code="quantization-gpu",
        about=(),
        broken=lambda s: _too_old(s, _checkpoint(s)),
        message="the GPU is older than the way in which the checkpoint is quantized needs",
        remedy="take a checkpoint that is quantized in another way",
    ),
    Rule(
        fact="cuda.py",
        code="bfloat16-gpu",
        about=("dtype",),
        broken=lambda s: (
            s.get("dtype") == "bfloat16"
            and s.invocation.capability is not None
            and s.invocation.capability < _BFLOAT16
        ),
        message="bfloat16 needs a GPU of compute capability 8.0 or more",
        remedy='set dtype = "half"',
    ),
)
