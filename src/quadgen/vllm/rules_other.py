"""Rules of what is set twice, of JSON options that depend on others, and of habits that end badly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quadgen.vllm import names
from quadgen.vllm.rule import Rule

if TYPE_CHECKING:
    from quadgen.vllm.rule import Settings

# Options that are also a key of a JSON option; vLLM wants one of the two.
_TWICE: Final = (
    ("attention-backend", "attention-config", "backend"),
    ("enable-flashinfer-autotune", "kernel-config", "enable_flashinfer_autotune"),
    ("cudagraph-capture-sizes", "compilation-config", "cudagraph_capture_sizes"),
    ("max-cudagraph-capture-size", "compilation-config", "max_cudagraph_capture_size"),
)
# The same, but vLLM lets one of them win without a word.
_OVERRIDES: Final = (
    ("moe-backend", "kernel-config", "moe_backend"),
    ("linear-backend", "kernel-config", "linear_backend"),
    ("reasoning-parser", "structured-outputs-config", "reasoning_parser"),
    ("log-level", "logging-config", "log_level"),
    ("log-config-file", "logging-config", "pylogging_config_file"),
    ("mamba-backend", "mamba-config", "backend"),
)


def _both(s: Settings, rows: tuple[tuple[str, str, str], ...]) -> bool:
    return any(s.given(option) and s.part(config, key) is not None for option, config, key in rows)


def _same_operation(s: Settings) -> bool:
    """An empty list means "not given" (vllm/engine/arg_utils.py)."""
    alone, inside = s.get("ir-op-priority"), s.part("kernel-config", "ir_op_priority")
    if not isinstance(alone, dict) or not isinstance(inside, dict):
        return False
    return any(alone.get(operation) and inside.get(operation) for operation in alone)


def _largest_differs(s: Settings) -> bool:
    sizes = s.get("cudagraph-capture-sizes") or s.part("compilation-config", "cudagraph_capture_sizes")
    largest = s.get("max-cudagraph-capture-size") or s.part(
        "compilation-config", "max_cudagraph_capture_size"
    )
    return bool(sizes) and largest is not None and max(sizes) != largest


def _unknown_connector(s: Settings) -> bool:
    connector = s.part("kv-transfer-config", "kv_connector")
    outside = s.part("kv-transfer-config", "kv_connector_module_path")
    return (
        isinstance(connector, str) and not outside and connector not in names.known("kv-connector", s.release)
    )


def _unpinned_code(s: Settings) -> bool:
    """Code from the hub, in whatever state it is at the next start."""
    local = s.invocation.model.startswith("/")
    pinned = s.invocation.revision or s.get("revision")
    return bool(s.get("trust-remote-code")) and not local and not (pinned or s.get("code-revision"))


def _dispatched(s: Settings) -> bool:
    sizes = (
        s.number(name, 1) for name in ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")
    )
    return any(size > 1 for size in sizes)


def _bucket_address(s: Settings) -> bool:
    formats = {"auto", "runai_streamer", "runai_streamer_sharded", "modelexpress"}
    return s.invocation.model.startswith(("s3://", "gs://", "az://")) and s.get("load-format") not in formats


def _limits_tokens(s: Settings) -> bool:
    config: Any = s.get("override-generation-config") or {}
    return bool({"max_tokens", "max_new_tokens"} & set(config))


RULES: Final = (
    Rule(
        fact="X1, X2",
        code="set-twice",
        about=tuple(option for option, _, _ in _TWICE),
        broken=lambda s: _both(s, _TWICE),
        message="this option and the same key of its JSON option exclude each other",
        remedy="keep one of the two",
    ),
    Rule(
        fact="X2",
        code="set-twice",
        about=("ir-op-priority",),
        broken=_same_operation,
        message="ir-op-priority and kernel-config.ir_op_priority both name an order for the same operation",
        remedy="keep one of the two",
    ),
    Rule(
        fact="X2",
        code="set-twice-wins",
        about=tuple(option for option, _, _ in _OVERRIDES),
        broken=lambda s: _both(s, _OVERRIDES),
        message="this option and the same key of its JSON option are both set; one of them is not used",
        remedy="keep one of the two",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="X3",
        code="capture-sizes",
        about=("cudagraph-capture-sizes", "compilation-config", "max-cudagraph-capture-size"),
        broken=_largest_differs,
        message="the largest of the CUDA graph capture sizes must equal the maximum that is also given",
        remedy="leave the maximum out",
    ),
    Rule(
        fact="X5",
        code="kv-connector-unknown",
        about=("kv-transfer-config",),
        broken=_unknown_connector,
        message="kv-transfer-config.kv_connector: vLLM has no connector of this name",
        remedy="give kv_connector_module_path for one of your own",
    ),
    Rule(
        fact="seed 2",
        code="kv-load-failure",
        about=("kv-transfer-config",),
        broken=lambda s: (
            s.part("kv-transfer-config", "kv_connector") is not None
            and s.values.get("kv-transfer-config", {}).get("kv_load_failure_policy") is None
        ),
        message="a KV connector that fails to load a block fails the whole request",
        remedy='say what is meant: kv_load_failure_policy = "recompute" or "fail"',
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="X7",
        code="traces-endpoint",
        about=("collect-detailed-traces",),
        broken=lambda s: bool(s.get("collect-detailed-traces")) and not s.get("otlp-traces-endpoint"),
        message="collect-detailed-traces needs otlp-traces-endpoint",
    ),
    Rule(
        fact="X9",
        code="mm-shm-cache",
        about=("mm-shm-cache-max-object-size-mb",),
        broken=lambda s: (
            s.number("mm-shm-cache-max-object-size-mb", 128) != _SHM_OBJECT_MB
            and s.get("mm-processor-cache-type") != "shm"
        ),
        message='mm-shm-cache-max-object-size-mb needs mm-processor-cache-type = "shm"',
    ),
    Rule(
        fact="X9",
        code="mm-encoder-scales",
        about=("mm-encoder-fp8-scale-path", "mm-encoder-fp8-scale-save-path"),
        broken=lambda s: (
            (
                s.given("mm-encoder-fp8-scale-path", "mm-encoder-fp8-scale-save-path")
                and s.get("mm-encoder-attn-dtype") != "fp8"
            )
            or (s.given("mm-encoder-fp8-scale-path") and s.given("mm-encoder-fp8-scale-save-path"))
        ),
        message='FP8 scales of the encoder need mm-encoder-attn-dtype = "fp8", and are either loaded or'
        " saved",
    ),
    Rule(
        fact="X10",
        code="mm-tensor-ipc",
        about=("mm-tensor-ipc",),
        broken=lambda s: (
            s.get("mm-tensor-ipc") == "torch_shm"
            and (_dispatched(s) or s.env("VLLM_WORKER_MULTIPROC_METHOD") != "spawn")
        ),
        message='mm-tensor-ipc = "torch_shm" needs one GPU and VLLM_WORKER_MULTIPROC_METHOD = "spawn" in env',
    ),
    Rule(
        fact="X11",
        code="mamba-algorithm",
        about=("mamba-ssu-algorithm",),
        broken=lambda s: (
            s.given("mamba-ssu-algorithm") and str(s.get("mamba-backend")).upper() != "FLASHINFER"
        ),
        message='mamba-ssu-algorithm needs mamba-backend = "flashinfer"',
        since="0.27",
    ),
    Rule(
        fact="X11",
        code="mamba-rounding",
        about=("enable-mamba-cache-stochastic-rounding",),
        broken=lambda s: (
            bool(s.get("enable-mamba-cache-stochastic-rounding"))
            and s.get("mamba-ssm-cache-dtype") != "float16"
        ),
        message='stochastic rounding of the Mamba cache needs mamba-ssm-cache-dtype = "float16"',
        since="0.27",
    ),
    Rule(
        fact="X12",
        code="quantization-deprecated",
        about=("quantization",),
        broken=lambda s: (
            s.get("quantization") in names.known("quantization-deprecated", s.release)
            and not s.get("allow-deprecated-quantization")
        ),
        message='quantization "{quantization}" is deprecated, and vLLM refuses it unless told otherwise',
        remedy="add allow-deprecated-quantization = true, and look for another checkpoint",
    ),
    Rule(
        fact="X15",
        code="routed-experts",
        about=("enable-return-routed-experts",),
        broken=lambda s: (
            bool(s.get("enable-return-routed-experts"))
            and (
                s.values.get("enable-prefix-caching") is False
                or s.number("pipeline-parallel-size", 1) > 1
                or s.number("decode-context-parallel-size", 1) > 1
                or s.number("prefill-context-parallel-size", 1) > 1
            )
        ),
        message="enable-return-routed-experts needs prefix caching, one pipeline stage and no context"
        " parallelism",
        since="0.22",
    ),
    Rule(
        fact="X16",
        code="environ-validation-image",
        about=("fail-on-environ-validation",),
        broken=lambda s: bool(s.get("fail-on-environ-validation")),
        message="official images of 0.21 to 0.25 set variables that this vLLM does not know, and refuse"
        " to start",
        remedy="leave fail-on-environ-validation out",
        since="0.21",
        until="0.26",
        severity="warning",
        stage="start",
    ),
    Rule(
        fact="X18",
        code="bucket-format",
        about=("load-format",),
        broken=_bucket_address,
        message='load-format "{load-format}" cannot read a model from a bucket',
        remedy='use "runai_streamer", or leave it out',
    ),
    Rule(
        fact="seed 2",
        code="remote-code",
        about=("trust-remote-code",),
        broken=_unpinned_code,
        message="trust-remote-code runs whatever code the hub holds at the next start",
        remedy="pin it: revision = the commit that you looked at",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="seed 2",
        code="generation-config",
        about=("override-generation-config",),
        broken=lambda s: bool(s.get("override-generation-config")) and s.get("generation-config") == "auto",
        message="every sampling default that is not overridden still comes from the model's"
        " generation_config.json",
        remedy='set generation-config = "vllm" for vLLM\'s own defaults',
        stage="silent",
        severity="note",
    ),
    Rule(
        fact="seed 2",
        code="generation-limit",
        about=("override-generation-config",),
        broken=_limits_tokens,
        message="a token limit in override-generation-config is a default, not a ceiling: requests may"
        " ask for more",
        stage="silent",
        severity="note",
    ),
    Rule(
        fact="seed 2",
        code="chunked-prefill-off",
        about=("enable-chunked-prefill",),
        broken=lambda s: s.values.get("enable-chunked-prefill") is False and s.get("runner") != "pooling",
        message="a generating model without chunked prefill can crash or give wrong answers",
        remedy="leave enable-chunked-prefill out: vLLM knows which models need it",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="vllm.md 6",
        code="dev-mode",
        about=("VLLM_SERVER_DEV_MODE",),
        broken=lambda s: s.switched_on("VLLM_SERVER_DEV_MODE") and s.invocation.reachable,
        message="VLLM_SERVER_DEV_MODE opens /sleep, /collective_rpc and more, without a key, to everybody"
        " who can connect",
        remedy="listen on 127.0.0.1, or leave it out",
        stage="silent",
    ),
    Rule(
        fact="vllm.md 6",
        code="dev-mode-local",
        about=("VLLM_SERVER_DEV_MODE",),
        broken=lambda s: s.switched_on("VLLM_SERVER_DEV_MODE") and not s.invocation.reachable,
        message="VLLM_SERVER_DEV_MODE opens /sleep, /collective_rpc and more, without a key",
        remedy="leave it out in service",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="cli_args.py",
        code="lm-format-enforcer",
        about=("structured-outputs-config",),
        broken=lambda s: s.part("structured-outputs-config", "backend") == "lm-format-enforcer",
        message="the structured outputs backend lm-format-enforcer is deprecated, to go in 0.35",
        remedy="use auto, xgrammar or guidance",
        since="0.33",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="F10",
        code="origins-credentials",
        about=("allow-credentials",),
        broken=lambda s: bool(s.get("allow-credentials")) and "*" in (s.get("allowed-origins") or ()),
        message='allow-credentials with allowed-origins ["*"] lets every web page use the server as its'
        " visitor",
        remedy="name the origins",
        stage="silent",
        severity="warning",
    ),
)

_SHM_OBJECT_MB: Final = 128
