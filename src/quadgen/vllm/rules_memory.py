"""Rules of the scheduler, the cache and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quadgen.vllm.rule import Rule

if TYPE_CHECKING:
    from quadgen.vllm.rule import Settings


def _above(s: Settings, low: str, high: str) -> bool:
    """Both were given, and the first is above the second."""
    return s.given(low) and s.given(high) and s.number(low) > s.number(high) > 0


def _dtypes_clash(s: Settings) -> bool:
    """Since 0.33 a cache of 16-bit floats must have the very type of the model."""
    names = {"half": "float16", "float": "float32"}
    cache, model = s.get("kv-cache-dtype"), s.get("dtype")
    return (
        cache in {"float16", "bfloat16"} and model not in {None, "auto"} and names.get(model, model) != cache
    )


def _prefetch(s: Settings) -> bool:
    return s.get("offload-backend") == "prefetch" or s.number("offload-group-size") > 0


def _packed_cache(s: Settings) -> bool:
    cache = s.get("kv-cache-dtype") or ""
    return cache.startswith("turboquant_") or cache == "ultraquant_4bit"


def _eager_but_compiling(s: Settings) -> bool:
    mode = s.part("compilation-config", "mode")
    return bool(s.get("enforce-eager")) and mode not in {None, "NONE", 0}


RULES: Final = (
    Rule(
        fact="M1",
        code="batch-tokens-seqs",
        about=("max-num-batched-tokens", "max-num-seqs"),
        broken=lambda s: _above(s, "max-num-seqs", "max-num-batched-tokens"),
        message="max-num-batched-tokens {max-num-batched-tokens} is below max-num-seqs {max-num-seqs}",
        remedy="every running sequence needs at least one token of a batch",
    ),
    Rule(
        fact="M2",
        code="batch-tokens-length",
        about=("max-num-batched-tokens", "max-model-len", "enable-chunked-prefill"),
        broken=lambda s: (
            s.values.get("enable-chunked-prefill") is False
            and _above(s, "max-model-len", "max-num-batched-tokens")
        ),
        message="without chunked prefill, max-num-batched-tokens {max-num-batched-tokens} must reach"
        " max-model-len"
        " {max-model-len}",
    ),
    Rule(
        fact="M3",
        code="active-seqs",
        about=("max-num-active-seqs", "max-num-seqs"),
        broken=lambda s: _above(s, "max-num-active-seqs", "max-num-seqs"),
        message="max-num-active-seqs {max-num-active-seqs} is above max-num-seqs {max-num-seqs}",
        since="0.31",
    ),
    Rule(
        fact="M4",
        code="long-prefill",
        about=("long-prefill-token-threshold", "max-model-len"),
        broken=lambda s: _above(s, "long-prefill-token-threshold", "max-model-len"),
        message="long-prefill-token-threshold {long-prefill-token-threshold} is above max-model-len"
        " {max-model-len}",
    ),
    Rule(
        fact="M8",
        code="cache-dtype-model",
        about=("kv-cache-dtype", "dtype"),
        broken=_dtypes_clash,
        message='kv-cache-dtype "{kv-cache-dtype}" does not go with dtype "{dtype}"',
        remedy='leave kv-cache-dtype out: "auto" follows the model',
        since="0.33",
    ),
    Rule(
        fact="M10",
        code="cache-packed",
        about=("kv-cache-dtype",),
        broken=lambda s: _packed_cache(s) and s.part("attention-config", "flash_attn_version") is None,
        message='kv-cache-dtype "{kv-cache-dtype}" forces FlashAttention 2 and keeps the first and last'
        " layers as they are",
        remedy="say so with attention-config.flash_attn_version = 2, so that nothing is a surprise",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="M10",
        code="cache-packed-version",
        about=("attention-config", "kv-cache-dtype"),
        broken=lambda s: (
            _packed_cache(s) and s.part("attention-config", "flash_attn_version") not in {None, 2}
        ),
        message='kv-cache-dtype "{kv-cache-dtype}" works with FlashAttention 2 only',
        remedy="set attention-config.flash_attn_version = 2",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="M11",
        code="mamba-block-prefix",
        about=("mamba-block-size",),
        broken=lambda s: s.given("mamba-block-size") and s.values.get("enable-prefix-caching") is False,
        message="mamba-block-size needs prefix caching",
        remedy="set enable-prefix-caching = true, or leave mamba-block-size out",
    ),
    Rule(
        fact="seed 2",
        code="mamba-prefix-align",
        about=("mamba-cache-mode",),
        broken=lambda s: bool(s.get("enable-prefix-caching")) and s.values.get("mamba-cache-mode") == "none",
        message='prefix caching of a Mamba model needs mamba-cache-mode = "align"',
        remedy='set mamba-cache-mode = "align", or leave it out',
        stage="silent",
        severity="warning",
        until="0.33",
    ),
    Rule(
        fact="M12",
        code="offload-prefetch",
        about=("offload-num-in-group", "offload-group-size", "offload-backend", "offload-prefetch-step"),
        broken=lambda s: (
            _prefetch(s)
            and (
                s.number("offload-num-in-group") > s.number("offload-group-size")
                or s.number("offload-prefetch-step") < 1
            )
        ),
        message="prefetch offloading needs offload-group-size of at least offload-num-in-group"
        " {offload-num-in-group},"
        " and offload-prefetch-step of at least 1",
    ),
    Rule(
        fact="offload.py",
        code="offload-backend",
        about=("offload-backend", "cpu-offload-gb", "offload-group-size"),
        broken=lambda s: (
            (s.get("offload-backend") == "uva" and s.number("offload-group-size") > 0)
            or (s.get("offload-backend") != "uva" and _prefetch(s) and (s.get("cpu-offload-gb") or 0) > 0)
        ),
        message="cpu-offload-gb and offload-group-size belong to two ways of offloading; vLLM uses one of"
        " them",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="offload.py",
        code="offload-params",
        about=("cpu-offload-params",),
        broken=lambda s: bool(s.get("cpu-offload-params")) and not (s.get("cpu-offload-gb") or 0) > 0,
        message="cpu-offload-params does nothing without cpu-offload-gb",
        remedy="say with cpu-offload-gb how much may be moved",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="M13",
        code="lora-cpu",
        about=("max-cpu-loras", "max-loras"),
        broken=lambda s: s.given("max-cpu-loras") and s.number("max-cpu-loras") < s.number("max-loras", 1),
        message="max-cpu-loras {max-cpu-loras} is below max-loras {max-loras}",
    ),
    Rule(
        fact="lora.py",
        code="lora-unused",
        about=("max-loras", "max-lora-rank", "max-cpu-loras", "lora-dtype", "fully-sharded-loras"),
        broken=lambda s: not s.get("enable-lora"),
        message="LoRA settings do nothing without enable-lora",
        remedy="add enable-lora = true",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="C stage",
        code="memory-twice",
        about=("kv-cache-memory-bytes",),
        broken=lambda s: s.given("kv-cache-memory-bytes") and "gpu-memory-utilization" in s.values,
        message="kv-cache-memory-bytes makes vLLM ignore gpu-memory-utilization",
        remedy="keep one of them",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="vllm.md 2",
        code="eager-compilation",
        about=("enforce-eager",),
        broken=_eager_but_compiling,
        message="enforce-eager switches off the compilation that compilation-config asks for",
        remedy="keep one of them",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="cache.py",
        code="kv-offloading-size",
        about=("kv-offloading-backend",),
        broken=lambda s: not s.given("kv-offloading-size"),
        message="kv-offloading-backend does nothing without kv-offloading-size",
        stage="silent",
        severity="warning",
    ),
)
