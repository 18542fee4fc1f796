"""Rules of speculative decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quadgen.vllm.rule import Rule

if TYPE_CHECKING:
    from quadgen.vllm.rule import Settings

_SHORT: Final = {"spec-method": "method", "spec-model": "model", "spec-tokens": "num_speculative_tokens"}
_ABOUT: Final = ("speculative-config", *_SHORT)
# Methods that need no model of their own (vllm/config/speculative.py).
_MODEL_FREE: Final = frozenset(
    {"ngram", "[ngram]", "ngram_gpu", "suffix", "mtp", "dspark", "extract_hidden_states"}
)
_DRAFTED: Final = frozenset({"dflash", "eagle", "eagle3", "draft_model"})
_FLY_TOKENS: Final = 2


def field(s: Settings, key: str) -> Any:
    """One speculative setting, however it was given."""
    for option, name in _SHORT.items():
        if name == key and s.given(option):
            return s.get(option)
    return s.part("speculative-config", key)


def active(s: Settings) -> bool:
    """Whether the service asks for speculative decoding."""
    return s.given(*_SHORT) or bool(s.get("speculative-config"))


def method(s: Settings) -> str:
    """The method; MTP has had a name for each model family."""
    name = str(field(s, "method") or "")
    return "mtp" if name.endswith("_mtp") else name


def _tokens(s: Settings) -> int | None:
    value = field(s, "num_speculative_tokens")
    return value if isinstance(value, int) else None


def _model_missing(s: Settings) -> bool:
    return active(s) and not field(s, "model") and method(s) not in _MODEL_FREE | {"custom_class"}


def _tokens_missing(s: Settings) -> bool:
    free = method(s) in _MODEL_FREE or method(s) == "custom_class"
    return active(s) and free and _tokens(s) is None and method(s) != "mtp"


def _foreign_drafter(s: Settings) -> bool:
    """DFlash drafters are named after the one model that they were made for."""
    drafter = str(field(s, "model") or "").rsplit("/", 1)[-1].lower()
    target = s.invocation.model.rstrip("/").rsplit("/", 1)[-1].lower()
    base = drafter.removesuffix("-dflash")
    return method(s) == "dflash" and drafter.endswith("-dflash") and base not in target and target not in base


def _lookup_range(s: Settings) -> bool:
    low, high = field(s, "prompt_lookup_min"), field(s, "prompt_lookup_max")
    return isinstance(low, int) and isinstance(high, int) and low > high


def _synthetic(s: Settings) -> bool:
    given = [
        field(s, key) is not None for key in ("synthetic_acceptance_rates", "synthetic_acceptance_length")
    ]
    synthetic = field(s, "rejection_sample_method") == "synthetic"
    return sum(given) != 1 if synthetic else any(given)


def _fly(s: Settings) -> bool:
    if field(s, "rejection_sample_method") != "fly":
        return False
    tokens, window = _tokens(s), field(s, "fly_window_size")
    return tokens is not None and (tokens < _FLY_TOKENS or (isinstance(window, int) and window >= tokens))


def _heterogeneous(s: Settings) -> bool:
    return bool(field(s, "use_heterogeneous_vocab")) and (
        method(s) not in {"draft_model", ""}
        or field(s, "draft_sample_method") not in {None, "greedy"}
        or bool(field(s, "use_local_argmax_reduction"))
    )


def _lora_tokens(s: Settings) -> bool:
    tokens = _tokens(s)
    if not (s.get("enable-lora") and tokens and s.given("max-num-batched-tokens", "max-num-seqs")):
        return False
    batch, sequences = s.get("max-num-batched-tokens"), s.get("max-num-seqs")
    return bool(batch and sequences) and batch < sequences * (tokens + 1)


# What async scheduling could not do up to 0.32, and since then cannot do on the V1 runner only.
_NOT_ASYNC: Final = frozenset({"ngram", "suffix", "custom_class", "medusa", "mlp_speculator"})

RULES: Final = (
    Rule(
        fact="S1",
        code="speculative-twice",
        about=_ABOUT,
        broken=lambda s: any(
            s.given(option) and s.part("speculative-config", key) is not None
            for option, key in _SHORT.items()
        ),
        message="spec-method, spec-model and spec-tokens exclude the same key inside speculative-config",
        remedy="keep one of the two",
        since="0.22",
    ),
    Rule(
        fact="S2",
        code="speculative-tensor-parallel",
        about=("speculative-config",),
        broken=lambda s: field(s, "tensor_parallel_size") is not None,
        message="speculative-config has no tensor_parallel_size of its own",
        remedy="write draft_tensor_parallel_size: 1, or the target's size",
    ),
    Rule(
        fact="S2",
        code="speculative-draft-parallel",
        about=("speculative-config",),
        broken=lambda s: (
            field(s, "draft_tensor_parallel_size") is not None
            and field(s, "draft_tensor_parallel_size") not in {1, s.number("tensor-parallel-size", 1)}
        ),
        message="draft_tensor_parallel_size must be 1 or tensor-parallel-size {tensor-parallel-size}",
    ),
    Rule(
        fact="seed 2",
        code="speculative-context",
        about=("speculative-config",),
        broken=lambda s: (
            isinstance(field(s, "max_model_len"), int)
            and 0 < s.number("max-model-len") < field(s, "max_model_len")
        ),
        message="max_model_len inside speculative-config is the drafter's, and above the target's"
        " {max-model-len}",
        remedy="leave it out",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="S3",
        code="speculative-model",
        about=_ABOUT,
        broken=_model_missing,
        message="this method of speculative decoding needs a model of its own",
        remedy="add spec-model (or model inside speculative-config), the drafter made for this target",
    ),
    Rule(
        fact="S4",
        code="speculative-tokens",
        about=_ABOUT,
        broken=_tokens_missing,
        message="this method of speculative decoding needs a number of tokens",
        remedy="add spec-tokens (or num_speculative_tokens inside speculative-config)",
    ),
    Rule(
        fact="S4",
        code="speculative-tokens-default",
        about=_ABOUT,
        broken=lambda s: method(s) in _DRAFTED and bool(field(s, "model")) and _tokens(s) is None,
        message="without a number of speculative tokens vLLM starts only if the drafter's config.json has"
        " n_predict",
        remedy="add spec-tokens",
        severity="warning",
    ),
    Rule(
        fact="S5",
        code="speculative-tokens",
        about=_ABOUT,
        broken=lambda s: (_tokens(s) if _tokens(s) is not None else 1) <= 0,  # type: ignore[operator]
        message="the number of speculative tokens must be above 0",
    ),
    Rule(
        fact="S6",
        code="speculative-lookup",
        about=("speculative-config",),
        broken=_lookup_range,
        message="prompt_lookup_min is above prompt_lookup_max",
    ),
    Rule(
        fact="S7",
        code="speculative-class",
        about=_ABOUT,
        broken=lambda s: method(s) == "custom_class" and "." not in str(field(s, "model") or ""),
        message='method "custom_class" needs model = the dotted name of a Python class',
        since="0.22",
    ),
    Rule(
        fact="S8",
        code="speculative-suffix",
        about=_ABOUT,
        broken=lambda s: method(s) == "suffix",
        message='method "suffix" needs the package arctic-inference, which official images do not have',
        remedy='use an image with it, or method "ngram"',
        severity="warning",
        stage="start",
    ),
    Rule(
        fact="S9",
        code="speculative-vocabulary",
        about=("speculative-config",),
        broken=_heterogeneous,
        message="use_heterogeneous_vocab goes with method draft_model, greedy drafts and no"
        " use_local_argmax_reduction",
        since="0.25",
    ),
    Rule(
        fact="S11",
        code="speculative-synthetic",
        about=("speculative-config",),
        broken=_synthetic,
        message="exactly one of synthetic_acceptance_rates and synthetic_acceptance_length goes with"
        ' rejection_sample_method "synthetic", and none without it',
    ),
    Rule(
        fact="S11",
        code="speculative-fly",
        about=("speculative-config",),
        broken=_fly,
        message='rejection_sample_method "fly" needs 2 tokens or more, and a fly_window_size below them',
        since="0.33",
    ),
    Rule(
        fact="S12",
        code="speculative-lora",
        about=("max-num-batched-tokens", "max-num-seqs"),
        broken=_lora_tokens,
        message="with LoRA, max-num-batched-tokens {max-num-batched-tokens} must reach max-num-seqs"
        " {max-num-seqs}"
        " times one more than the speculative tokens",
    ),
    Rule(
        fact="S13",
        code="speculative-metrics",
        about=("per-request-spec-decode-metrics",),
        broken=lambda s: s.get("per-request-spec-decode-metrics") not in {None, "none"} and not active(s),
        message="per-request-spec-decode-metrics needs speculative decoding",
        since="0.29",
    ),
    Rule(
        fact="S14",
        code="speculative-runner",
        about=(*_ABOUT, "VLLM_USE_V2_MODEL_RUNNER"),
        broken=lambda s: s.env("VLLM_USE_V2_MODEL_RUNNER") == "1" and method(s) in {"suffix", "custom_class"},
        message="model runner V2 cannot do this method of speculative decoding",
        remedy="leave VLLM_USE_V2_MODEL_RUNNER out of env",
    ),
    Rule(
        fact="S14",
        code="speculative-runner",
        about=(*_ABOUT, "VLLM_USE_V2_MODEL_RUNNER"),
        broken=lambda s: s.env("VLLM_USE_V2_MODEL_RUNNER") == "0" and method(s) == "dspark",
        message='method "dspark" needs model runner V2',
        remedy="leave VLLM_USE_V2_MODEL_RUNNER out of env",
        since="0.25",
    ),
    Rule(
        fact="S15",
        code="speculative-adaptive",
        about=("speculative-config",),
        broken=lambda s: (
            bool(field(s, "enable_adaptive_verification"))
            and (
                bool(s.get("enable-lora"))
                or s.number("pipeline-parallel-size", 1) > 1
                or bool(s.get("enforce-eager"))
            )
        ),
        message="enable_adaptive_verification excludes LoRA, pipeline parallelism and enforce-eager",
        since="0.28",
    ),
    Rule(
        fact="seed 1",
        code="speculative-drafter",
        about=_ABOUT,
        broken=_foreign_drafter,
        message="the DFlash drafter's name does not fit the model: a drafter works with the one it was"
        " made for",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="seed 2",
        code="async-scheduling",
        about=("async-scheduling",),
        broken=lambda s: bool(s.get("async-scheduling")) and method(s) in _NOT_ASYNC,
        message="async-scheduling does not go with this method of speculative decoding",
        remedy="leave async-scheduling out: vLLM switches it on where it can",
        until="0.33",
    ),
    Rule(
        fact="seed 2",
        code="async-scheduling",
        about=("async-scheduling",),
        broken=lambda s: bool(s.get("async-scheduling")) and bool(field(s, "disable_padded_drafter_batch")),
        message="async-scheduling excludes disable_padded_drafter_batch",
    ),
    Rule(
        fact="seed 2",
        code="async-scheduling",
        about=("async-scheduling", "VLLM_USE_V2_MODEL_RUNNER"),
        broken=lambda s: (
            bool(s.get("async-scheduling"))
            and s.env("VLLM_USE_V2_MODEL_RUNNER") == "0"
            and s.number("pipeline-parallel-size", 1) > 1
        ),
        message="the V1 model runner cannot do async-scheduling with pipeline parallelism",
        remedy="leave VLLM_USE_V2_MODEL_RUNNER out of env",
        since="0.27",
    ),
)
