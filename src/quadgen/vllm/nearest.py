"""What comes closest to a value that vLLM does not know, and why."""

from __future__ import annotations

from typing import Final

from quadgen.vllm.catalog import RELEASES, load

# Values of other programs, other releases and other spellings: what a user means by them, with the reason
# where the names alone do not show it. Only values that the release knows are offered.
_MEANT: Final[dict[str, dict[str, tuple[tuple[str, ...], str]]]] = {
    "kv-cache-dtype": {
        "q8_0": (
            ("fp8", "int8_per_token_head", "turboquant_k8v4"),
            "llama.cpp's 8-bit blocks do not exist in vLLM; fp8 is as small and needs no calibration",
        ),
        "q8": (("fp8", "int8_per_token_head"), "fp8 is the 8-bit cache that most GPUs take"),
        "int8": (("int8_per_token_head", "fp8"), "8-bit integers come with a scale for each token and head"),
        "q4_0": (
            ("int4_per_token_head", "turboquant_4bit_nc", "nvfp4"),
            "llama.cpp's 4-bit blocks do not exist in vLLM",
        ),
        "q4_1": (
            ("int4_per_token_head", "turboquant_4bit_nc", "nvfp4"),
            "llama.cpp's blocks do not exist in vLLM",
        ),
        "iq4_nl": (("int4_per_token_head", "turboquant_4bit_nc"), "llama.cpp's blocks do not exist in vLLM"),
        "q5_0": (("fp8", "turboquant_k8v4"), "vLLM has no 5-bit cache"),
        "q5_1": (("fp8", "turboquant_k8v4"), "vLLM has no 5-bit cache"),
        "int4": (
            ("int4_per_token_head", "turboquant_4bit_nc"),
            "4-bit integers come with a scale for each head",
        ),
        "fp4": (("nvfp4", "turboquant_4bit_nc"), "the 4-bit float of vLLM is NVIDIA's"),
        "turboquant": (
            ("turboquant_k8v4", "turboquant_4bit_nc"),
            "the name holds the bits of keys and values",
        ),
        "fp16": (("float16",), ""),
        "f16": (("float16",), ""),
        "half": (("float16",), ""),
        "bf16": (("bfloat16",), ""),
        "fp8_e4m3fn": (("fp8_e4m3",), ""),
    },
    "dtype": {
        "fp16": (("float16",), ""),
        "f16": (("float16",), ""),
        "bf16": (("bfloat16",), ""),
        "fp32": (("float32",), ""),
        "f32": (("float32",), ""),
        "fp8": (("auto",), "8-bit weights are a matter of quantization, not of dtype"),
        "int8": (("auto",), "8-bit weights are a matter of quantization, not of dtype"),
    },
    "convert": {"reward": (("embed",), "it was renamed"), "score": (("classify",), "")},
    "runner": {"embed": (("pooling",), ""), "embedding": (("pooling",), ""), "score": (("pooling",), "")},
    "all2all-backend": {"mori": (("mori_high_throughput", "mori_low_latency"), "it was split in 0.23")},
    "tool-call-parser": {"minimax": (("minimax_m2", "minimax_m3"), "it was dropped in 0.24")},
    "tokenizer-mode": {"slow": (("auto", "hf"), "slow tokenizers are gone")},
    "scheduling-policy": {"fifo": (("fcfs",), "")},
    "spec-method": {
        "eagle2": (("eagle",), ""),
        "draft": (("draft_model",), ""),
        "medusa": (("eagle3",), "it was dropped in 0.33"),
        "mlp_speculator": (("eagle3",), "it was dropped in 0.33"),
        "lookahead": (("ngram",), ""),
    },
    "quantization": {
        "gguf": (("awq", "auto_gptq"), "GGUF files were dropped; take a checkpoint in another format"),
        "int8": (("int8_per_channel_weight_only", "compressed-tensors"), ""),
        "int4": (("awq", "auto_gptq"), ""),
        "nvfp4": (("modelopt_fp4", "compressed-tensors"), "leave it out: the checkpoint says it itself"),
    },
    "attention-backend": {
        "FLASH_ATTN_VLLM_V1": (("FLASH_ATTN",), ""),
        "FLASHINFER_VLLM_V1": (("FLASHINFER",), ""),
        "TRITON_ATTN_VLLM_V1": (("TRITON_ATTN",), ""),
        "XFORMERS": (("FLASH_ATTN", "TRITON_ATTN"), "it was dropped"),
    },
}

_CUTOFF: Final = 0.6
# Shorter names are the beginning of too many others.
_STEM: Final = 3


def other_releases(name: str, value: str, release: str) -> str:
    """Which other releases take a value of an option, to follow a message; empty for none.

    Args:
        name: The option.
        value: What the spec holds.
        release: The service's release, such as "0.32".
    """
    having = [other for other in RELEASES if _takes(name, value, other)]
    if not having:
        return ""
    at = RELEASES.index(release)
    later = [other for other in having if RELEASES.index(other) > at]
    return f"; it is new in {later[0]}" if later else f"; it was there until {having[-1]}"


def _takes(name: str, value: str, release: str) -> bool:
    option = load(release).options.get(name)
    if option is None:
        return False
    return value in map(str, (*option.choices, *option.suggestions, *option.late_choices))


def nearest_value(name: str, value: str, known: tuple[str, ...]) -> str:
    """One sentence that says what to write instead, or nothing.

    Args:
        name: The option.
        value: What the spec holds.
        known: What the release knows.
    """
    meant, why = _MEANT.get(name, {}).get(_key(name, value), ((), ""))
    offered = [candidate for candidate in meant if candidate in known]
    if offered:
        return f"closest: {', '.join(offered)}" + (f" ({why})" if why else "")
    from difflib import get_close_matches  # noqa: PLC0415 - only a wrong spec pays for it

    folded = {candidate.lower(): candidate for candidate in known}
    near = get_close_matches(value.lower().replace("-", "_"), folded, n=3, cutoff=_CUTOFF)
    near = near or get_close_matches(value.lower(), folded, n=3, cutoff=_CUTOFF)
    if near:
        return "did you mean " + " or ".join(folded[candidate] for candidate in near) + "?"
    bare = value.lower()
    parts = [candidate for candidate in known if len(bare) > 1 and bare in candidate.lower()]
    parts = parts or [
        candidate for candidate in known if len(candidate) > _STEM and bare.startswith(candidate.lower())
    ]
    return "did you mean " + " or ".join(parts[:3]) + "?" if parts else ""


def _key(name: str, value: str) -> str:
    rows = _MEANT.get(name, {})
    return next((row for row in rows if row.lower() == value.lower()), value)
