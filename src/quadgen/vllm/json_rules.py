"""Rules between the keys of one JSON option, as vLLM's classes enforce them.

Each row was read in `vllm/config/` of every release from 0.20 to 0.33; `since` is the first that has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quadgen.vllm.json_rule import JsonRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def broken_rules(
    owner: str, settings: Mapping[str, Any], given: Mapping[str, Any], release: str
) -> Iterator[JsonRule]:
    """The rules that an object breaks.

    Args:
        owner: The class of the object.
        settings: Its keys, with defaults for those that were left out.
        given: The keys that were given.
        release: Such as "0.32".
    """
    for rule in RULES:
        if rule.owner == owner and rule.holds_in(release) and rule.broken(settings, given):
            yield rule


def _bad_op(op: str) -> bool:
    return op not in {"all", "none"} and op[:1] not in {"+", "-"}


def _contradicting_ops(ops: list[str]) -> bool:
    return bool({op[1:] for op in ops if op[:1] == "+"} & {op[1:] for op in ops if op[:1] == "-"})


def _is_address(text: str) -> bool:
    scheme, found, _ = text.partition("://")
    return bool(found) and len(scheme) > 1


_PROTON_DEFAULTS: Final = {
    "proton_profiler_dir": "",
    "proton_context": "shadow",
    "proton_data": "tree",
    "proton_backend": None,
    "proton_mode": None,
    "proton_hook": None,
    "proton_output_format": None,
    "proton_graph_attribution": False,
}


def _proton_without_proton(given: Mapping[str, Any]) -> bool:
    return any(key in given and given[key] != default for key, default in _PROTON_DEFAULTS.items())


def _flushes(mode: str | None) -> bool:
    return (mode or "").split(":", 1)[0].lower() == "periodic_flushing"


def _bad_patterns(targets: Mapping[str, str] | None) -> bool:
    import re  # noqa: PLC0415 - hardly any service gives targets

    for pattern in targets or ():
        if pattern.startswith("re:"):
            try:
                re.compile(pattern[3:])
            except re.error:
                return True
    return False


RULES: Final = (
    JsonRule(
        "CompilationConfig",
        "compilation-custom-ops",
        lambda all_, _: any(_bad_op(op) for op in all_["custom_ops"] or ()),
        "every entry of custom_ops is all, none, +NAME or -NAME",
    ),
    JsonRule(
        "CompilationConfig",
        "compilation-custom-ops",
        lambda all_, _: any(op in {"+", "-"} for op in all_["custom_ops"] or ()),
        "an entry of custom_ops has no name behind its sign",
        since="0.27",
    ),
    JsonRule(
        "CompilationConfig",
        "compilation-custom-ops",
        lambda all_, _: sum(op in {"all", "none"} for op in all_["custom_ops"] or ()) > 1,
        "custom_ops holds more than one of all and none",
    ),
    JsonRule(
        "CompilationConfig",
        "compilation-custom-ops",
        lambda all_, _: _contradicting_ops(all_["custom_ops"] or []),
        "custom_ops switches the same operation on and off",
        since="0.27",
    ),
    JsonRule(
        "CompilationConfig",
        "compilation-backend",
        lambda all_, _: (
            all_["mode"] in {"VLLM_COMPILE", 3} and all_["backend"] not in {None, "", "eager", "inductor"}
        ),
        "mode 3 (VLLM_COMPILE) takes only the backends eager and inductor",
        "leave backend out",
    ),
    JsonRule(
        "CompilationConfig",
        "compilation-inductor-passes",
        lambda all_, _: any("." not in name for name in (all_["inductor_passes"] or {}).values()),
        "a value of inductor_passes is no dotted Python name",
    ),
    JsonRule(
        "CompilationConfig",
        "compilation-sizes",
        lambda _, given: any(size <= 0 for size in given.get("decoder_replay_cudagraph_capture_sizes") or ()),
        "every entry of decoder_replay_cudagraph_capture_sizes must be above 0",
        since="0.32",
    ),
    JsonRule(
        "CompilationConfig",
        "compilation-sizes",
        lambda _, given: any(size <= 0 for size in given.get("encoder_cudagraph_token_budgets") or ()),
        "every entry of encoder_cudagraph_token_budgets must be above 0",
        since="0.22",
    ),
    JsonRule(
        "CompilationConfig",
        "compilation-encoder",
        lambda _, given: (
            given.get("cudagraph_mm_encoder", False)
            and (given.get("encoder_cudagraph_max_vision_items_per_batch") or 0) < 0
        ),
        "encoder_cudagraph_max_vision_items_per_batch must be at least 0",
    ),
    JsonRule(
        "CompilationConfig",
        "compilation-encoder",
        lambda _, given: (
            given.get("cudagraph_mm_encoder", False)
            and (given.get("encoder_cudagraph_max_frames_per_batch") or 0) < 0
        ),
        "encoder_cudagraph_max_frames_per_batch must be at least 0",
    ),
    JsonRule(
        "AttentionConfig",
        "attention-cudnn",
        lambda _, given: bool(given.get("use_cudnn_prefill")) and given.get("mla_prefill_backend") is None,
        "cuDNN's prefill is gone",
        "set mla_prefill_backend: FLASH_ATTN, FLASHINFER or TRTLLM_RAGGED",
        since="0.21",
        until="0.22",
    ),
    JsonRule(
        "AttentionConfig",
        "attention-indexer",
        lambda all_, given: (
            given.get("minimax_m3_indexer_cp", False)
            and all_["indexer_kv_dtype"] not in {"auto", "bf16", "fp8", "fp8_e4m3"}
        ),
        "minimax_m3_indexer_cp needs indexer_kv_dtype auto, bf16, fp8 or fp8_e4m3",
        since="0.33",
    ),
    JsonRule(
        "KernelConfig",
        "kernel-linear-backend",
        lambda _, given: given.get("linear_backend_per_quant") == {},
        "linear_backend_per_quant is empty",
        "leave it out",
    ),
    JsonRule(
        "EPLBConfig",
        "eplb-communicator",
        lambda all_, _: all_["use_async"] and all_["communicator"] in {"torch_nccl", "pynccl"},
        "asynchronous balancing cannot use the communicators torch_nccl and pynccl",
        "take torch_gloo or nixl, leave communicator out, or set use_async = false",
        since="0.22",
    ),
    JsonRule(
        "EPLBConfig",
        "eplb-interval",
        lambda all_, _: all_["log_balancedness"] and all_["log_balancedness_interval"] <= 0,
        "log_balancedness_interval must be above 0",
    ),
    JsonRule(
        "EncoderCacheManagerConfig",
        "encoder-cache-class",
        lambda all_, _: bool(all_["manager_config"]) and all_["encoder_cache_manager_cls"] is None,
        "manager_config needs encoder_cache_manager_cls",
    ),
    JsonRule(
        "KVTransferConfig",
        "kv-connector-role",
        lambda all_, _: all_["kv_connector"] is not None and all_["kv_role"] is None,
        "kv_connector needs kv_role",
        "add kv_role: kv_producer, kv_consumer or kv_both",
    ),
    JsonRule(
        "ECTransferConfig",
        "ec-connector-role",
        lambda all_, _: all_["ec_connector"] is not None and all_["ec_role"] is None,
        "ec_connector needs ec_role",
        "add ec_role: ec_producer, ec_consumer or ec_both",
    ),
    JsonRule(
        "EngramConfig",
        "engram-memory",
        lambda _, given: bool(given.get("dp_shared_memory")) and not given.get("cpu_offload", True),
        "dp_shared_memory needs cpu_offload = true",
    ),
    JsonRule(
        "EngramConfig",
        "engram-memory",
        lambda _, given: (
            bool(given.get("use_thp"))
            and (not given.get("cpu_offload", True) or bool(given.get("dp_shared_memory")))
        ),
        "use_thp needs cpu_offload = true and dp_shared_memory = false",
        since="0.31",
    ),
    JsonRule(
        "PoolerConfig",
        "pooler-scale",
        lambda _, given: given.get("logit_sigma") == 0,
        "logit_sigma cannot be 0",
    ),
    JsonRule(
        "PoolerConfig",
        "pooler-scale",
        lambda _, given: given.get("logit_scale") == 0,
        "logit_scale cannot be 0",
        until="0.23",
    ),
    JsonRule(
        "PoolerConfig",
        "pooler-twice",
        lambda _, given: (
            _both(given, "logit_bias", "logit_mean") or _both(given, "logit_scale", "logit_sigma")
        ),
        "logit_bias and logit_scale are the old names of logit_mean and logit_sigma",
        "keep the new names",
        until="0.23",
    ),
    JsonRule(
        "PoolerConfig",
        "pooler-twice",
        lambda _, given: (
            _both(given, "pooling_type", "seq_pooling_type")
            or _both(given, "pooling_type", "tok_pooling_type")
        ),
        "pooling_type excludes seq_pooling_type and tok_pooling_type",
    ),
    JsonRule(
        "ProfilerConfig",
        "profiler-torch",
        lambda all_, given: (
            all_["profiler"] != "torch"
            and bool(
                given.get("torch_profiler_dir")
                or given.get("capture_torch_profiler")
                or given.get("torch_profiler_activities") is not None
            )
        ),
        'torch_profiler_dir and its kin go with profiler = "torch" only',
    ),
    JsonRule(
        "ProfilerConfig",
        "profiler-torch",
        lambda all_, _: all_["profiler"] == "torch" and not all_["torch_profiler_dir"],
        'profiler = "torch" needs torch_profiler_dir',
    ),
    JsonRule(
        "ProfilerConfig",
        "profiler-torch",
        lambda _, given: _has_twins(given.get("torch_profiler_activities")),
        "torch_profiler_activities names an activity twice",
        since="0.31",
    ),
    JsonRule(
        "ProfilerConfig",
        "profiler-proton",
        lambda all_, given: all_["profiler"] != "proton" and _proton_without_proton(given),
        'the proton keys go with profiler = "proton" only',
        since="0.28",
    ),
    JsonRule(
        "ProfilerConfig",
        "profiler-proton",
        lambda all_, _: all_["profiler"] == "proton" and not all_["proton_profiler_dir"],
        'profiler = "proton" needs proton_profiler_dir',
        since="0.28",
    ),
    JsonRule(
        "ProfilerConfig",
        "profiler-proton",
        lambda _, given: _is_address(given.get("proton_profiler_dir") or ""),
        "proton_profiler_dir must be a local folder",
        since="0.28",
    ),
    JsonRule(
        "ProfilerConfig",
        "profiler-proton",
        lambda all_, given: (
            bool(given.get("proton_graph_attribution"))
            and (all_["proton_data"] != "tree" or _flushes(all_["proton_mode"]))
        ),
        'proton_graph_attribution needs proton_data = "tree" and excludes periodic_flushing',
        since="0.30",
    ),
    JsonRule(
        "ProfilerConfig",
        "profiler-proton",
        lambda all_, given: (
            (given.get("proton_output_format") == "chrome_trace" and all_["proton_data"] != "trace")
            or (
                given.get("proton_output_format") in {"hatchet", "hatchet_msgpack"}
                and all_["proton_data"] != "tree"
            )
        ),
        "proton_output_format does not fit proton_data: chrome_trace needs trace, hatchet needs tree",
        since="0.28",
    ),
    JsonRule(
        "StructuredOutputsConfig",
        "structured-outputs-backend",
        lambda all_, given: (
            bool(given.get("disable_any_whitespace")) and all_["backend"] not in {"xgrammar", "guidance"}
        ),
        "disable_any_whitespace needs the backend xgrammar or guidance",
    ),
    JsonRule(
        "StructuredOutputsConfig",
        "structured-outputs-backend",
        lambda all_, given: (
            bool(given.get("disable_additional_properties")) and all_["backend"] != "guidance"
        ),
        "disable_additional_properties needs the backend guidance",
    ),
    JsonRule(
        "QuantizationConfigArgs",
        "quantization-targets",
        lambda _, given: (
            given.get("targets") is not None
            and (given.get("linear") is not None or given.get("moe") is not None)
        ),
        "targets excludes linear and moe",
        since="0.30",
    ),
    JsonRule(
        "QuantizationConfigArgs",
        "quantization-targets",
        lambda _, given: _bad_patterns(given.get("targets")),
        "a key of targets behind re: is no regular expression",
        since="0.30",
    ),
)


def _both(given: Mapping[str, Any], first: str, second: str) -> bool:
    return given.get(first) is not None and given.get(second) is not None


def _has_twins(entries: list[str] | None) -> bool:
    return entries is not None and len(entries) != len(set(entries))
