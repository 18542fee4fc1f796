"""Rules that need the model's `config.json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quadgen.findings import Finding
from quadgen.vllm.rule import Rule, broken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from quadgen.vllm.rule import Settings

# Names of the same thing in different families (vllm/transformers_utils/model_arch_config_convertor.py).
_EXPERTS: Final = (
    "num_experts",
    "moe_num_experts",
    "n_routed_experts",
    "num_local_experts",
    "num_moe_experts",
)
_KV_HEADS: Final = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num")
_LENGTHS: Final = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
# These leave the length already scaled (vllm/config/model.py).
_SCALED: Final = frozenset({"su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling"})


@dataclass(frozen=True, slots=True)
class Model:
    """What `config.json` says about a model.

    Args:
        config: The whole file; the text part of a model with several is used where there is one.
    """

    config: Mapping[str, Any]

    @property
    def text(self) -> Mapping[str, Any]:
        """The part about the language model."""
        for key in ("text_config", "llm_config", "thinker_config"):
            part = self.config.get(key)
            if isinstance(part, dict):
                return part.get("text_config", part) if isinstance(part.get("text_config"), dict) else part
        return self.config

    def first(self, keys: tuple[str, ...]) -> int:
        """The first of these keys that holds a number; 0 for none."""
        for key in keys:
            value = self.text.get(key)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return 0

    @property
    def heads(self) -> int:
        """Attention heads; 0 for a model that does not say."""
        return self.first(("num_attention_heads", "n_head", "num_heads"))

    @property
    def kv_heads(self) -> int:
        """Key and value heads; as many as attention heads where the file does not say."""
        return self.first(_KV_HEADS) or self.heads

    @property
    def experts(self) -> int:
        """Experts of a mixture; 0 for a dense model."""
        return self.first(_EXPERTS)

    @property
    def has_mla(self) -> bool:
        """Whether attention is DeepSeek's latent one."""
        return self.first(("kv_lora_rank",)) > 0

    @property
    def is_hybrid(self) -> bool:
        """Whether some layers keep a recurrent state instead of a cache."""
        kinds = self.text.get("layer_types") or self.text.get("layers_block_type") or ()
        recurrent = {"linear_attention", "mamba", "mamba2", "recurrent", "gated_delta_net", "conv"}
        return bool(recurrent.intersection(kinds)) or any(
            key in self.text for key in ("mamba_d_state", "ssm_state_size", "linear_num_value_heads")
        )

    @property
    def longest(self) -> int:
        """The context that the model was made for; 0 for a model that does not say."""
        lengths = [value for key in _LENGTHS if isinstance(value := self.text.get(key), int) and value > 0]
        if not lengths:
            return 0
        return int(min(lengths) * self._scaling())

    def _scaling(self) -> float:
        rope = self.text.get("rope_parameters") or self.text.get("rope_scaling") or {}
        if not isinstance(rope, dict) or "gemma3" in str(self.config.get("model_type", "")):
            return 1.0
        parts = [part for part in rope.values() if isinstance(part, dict)] or [rope]
        kinds = {part.get("rope_type") or part.get("type") for part in parts}
        factors = [part["factor"] for part in parts if isinstance(part.get("factor"), (int, float))]
        return float(factors[-1]) if factors and not kinds & _SCALED else 1.0

    @property
    def quantization(self) -> str:
        """How the checkpoint is quantized; empty for not at all."""
        found = self.config.get("quantization_config") or self.text.get("quantization_config") or {}
        return str(found.get("quant_method", "")) if isinstance(found, dict) else ""

    @property
    def dtype(self) -> str:
        """The type of the weights."""
        return str(
            self.text.get("dtype") or self.text.get("torch_dtype") or self.config.get("torch_dtype") or ""
        )

    @property
    def is_multimodal(self) -> bool:
        """Whether the model sees or hears."""
        return any(key in self.config for key in ("vision_config", "audio_config", "thinker_config"))


def _model(s: Settings) -> Model:
    return Model(s.invocation.config or {})


def _heads(s: Settings) -> bool:
    heads, tp = _model(s).heads, s.number("tensor-parallel-size", 1)
    return heads > 0 and tp > 0 and heads % tp != 0


def _too_long(s: Settings) -> bool:
    longest, wanted = _model(s).longest, s.number("max-model-len")
    return (
        0 < longest < wanted
        and not s.switched_on("VLLM_ALLOW_LONG_MAX_MODEL_LEN")
        and not s.given("hf-overrides")
    )


def _dcp(s: Settings) -> bool:
    model, dcp, tp = (
        _model(s),
        s.number("decode-context-parallel-size", 1),
        s.number("tensor-parallel-size", 1),
    )
    if dcp <= 1 or model.has_mla or not model.kv_heads:
        return False
    return tp <= model.kv_heads or dcp > tp // model.kv_heads or (model.heads // model.kv_heads) % dcp != 0


# Methods that read a checkpoint of another name (each method's `override_quantization_method`).
_READS: Final = {
    "awq": {"awq", "auto_awq", "awq_marlin", "moe_wna16", "cpu_awq", "humming"},
    "gptq": {"gptq", "auto_gptq", "gptq_marlin", "moe_wna16", "humming"},
    "fp8": {"fp8", "modelopt", "humming", "deepseek_v4_fp8"},
    "modelopt": {"modelopt", "modelopt_fp4", "modelopt_mxfp8", "modelopt_mixed", "humming"},
    "modelopt_fp4": {"modelopt_fp4", "modelopt", "humming"},
    "mxfp4": {"mxfp4", "gpt_oss_mxfp4", "quark", "humming"},
    "compressed-tensors": {"compressed-tensors", "humming"},
}


def _other_quantization(s: Settings) -> bool:
    own, wanted = _model(s).quantization, s.get("quantization")
    return bool(own) and s.given("quantization") and wanted not in _READS.get(own, {own}) | {own, "online"}


def _cache_dtype(s: Settings) -> bool:
    halves = {"float16", "bfloat16"}
    model = _model(s).dtype if s.get("dtype") in {None, "auto"} else None
    return model in halves and s.get("kv-cache-dtype") in halves - {model}


RULES: Final = (
    Rule(
        fact="D18",
        code="heads-tensor-parallel",
        about=("tensor-parallel-size",),
        broken=_heads,
        message="the model's attention heads cannot be shared by tensor-parallel-size {tensor-parallel-size}",
        remedy="take a divisor of the number of heads, or pipeline-parallel-size",
    ),
    Rule(
        fact="D8",
        code="external-dense",
        about=("data-parallel-external-lb", "data-parallel-rank"),
        broken=lambda s: s.number("data-parallel-size", 1) > 1 and not _model(s).experts,
        message="external load balancing is for models with experts, and this one has none",
        remedy="run independent services instead",
    ),
    Rule(
        fact="D17",
        code="context-parallel-heads",
        about=("decode-context-parallel-size",),
        broken=_dcp,
        message="decode-context-parallel-size {decode-context-parallel-size} does not fit the model's key"
        " and value heads",
    ),
    Rule(
        fact="D23",
        code="experts-missing",
        about=("enable-expert-parallel",),
        broken=lambda s: bool(s.get("enable-expert-parallel")) and not _model(s).experts,
        message="enable-expert-parallel needs a model with experts, and this one has none",
        remedy="leave it out",
    ),
    Rule(
        fact="M5",
        code="model-length",
        about=("max-model-len",),
        broken=_too_long,
        message="max-model-len {max-model-len} is more than the model was made for",
        remedy="lower it, or scale it with hf-overrides as the model card says",
    ),
    Rule(
        fact="M8",
        code="cache-dtype-model",
        about=("kv-cache-dtype",),
        broken=_cache_dtype,
        message='kv-cache-dtype "{kv-cache-dtype}" does not go with the dtype of the model',
        remedy='leave it out: "auto" follows the model',
        since="0.33",
    ),
    Rule(
        fact="M9",
        code="cache-nvfp4-mla",
        about=("kv-cache-dtype",),
        broken=lambda s: (
            str(s.get("kv-cache-dtype")).startswith("nvfp4")
            and not str(s.get("kv-cache-dtype")).endswith("_ds_mla")
            and _model(s).has_mla
        ),
        message='kv-cache-dtype "{kv-cache-dtype}" is not for models with latent attention',
        since="0.21",
    ),
    Rule(
        fact="X12",
        code="quantization-checkpoint",
        about=("quantization",),
        broken=_other_quantization,
        message='quantization "{quantization}" is not the one that the checkpoint was made with',
        remedy="leave it out: vLLM reads it from the checkpoint",
    ),
    Rule(
        fact="X14",
        code="mm-loras",
        about=("default-mm-loras",),
        broken=lambda s: s.given("default-mm-loras") and not _model(s).is_multimodal,
        message="default-mm-loras is for multimodal models",
    ),
    Rule(
        fact="X15",
        code="routed-experts-dense",
        about=("enable-return-routed-experts",),
        broken=lambda s: bool(s.get("enable-return-routed-experts")) and not _model(s).experts,
        message="enable-return-routed-experts needs a model with experts, and this one has none",
        since="0.22",
    ),
    Rule(
        fact="seed 2",
        code="hybrid-prefix",
        about=("enable-prefix-caching",),
        broken=lambda s: (
            bool(s.get("enable-prefix-caching"))
            and _model(s).is_hybrid
            and s.get("mamba-cache-mode") != "align"
        ),
        message="prefix caching of a hybrid model needs an aligned Mamba cache",
        remedy='add mamba-cache-mode = "align"',
        stage="silent",
        severity="warning",
        until="0.33",
    ),
)


def model_findings(settings: Settings) -> Iterator[Finding]:
    """What the model's `config.json` says about the options; without it, one note on what was not checked.

    Args:
        settings: What vLLM sees of the service.
    """
    if settings.invocation.config is not None:
        yield from broken(RULES, settings)
        return
    open_rules = [
        rule
        for rule in RULES
        if rule.holds_in(settings.release) and any(name in settings.keys for name in rule.about)
    ]
    if open_rules:
        about = dict.fromkeys(name for rule in open_rules for name in rule.about if name in settings.keys)
        yield Finding(
            severity="note",
            code="model-unknown",
            message=f"not checked without config.json: whether {', '.join(about)} fits the model",
            path=("model",),
        )
