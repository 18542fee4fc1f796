"""Rules of devices: how many GPUs, which ones, and how nodes reach each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quadgen.vllm.rule import Rule
from quadgen.vllm.rules_parallel import is_external, world_size

if TYPE_CHECKING:
    from quadgen.vllm.rule import Settings

_DP: Final = "data-parallel-size"


def _on(s: Settings, name: str) -> bool:
    return bool(s.get(name))


def _bad_devices(s: Settings) -> bool:
    ids: list[Any] = s.get("device-ids") or []
    mixed = len({type(entry) for entry in ids}) > 1
    visible = s.env("CUDA_VISIBLE_DEVICES")
    beyond = visible and any(isinstance(entry, int) and entry >= len(visible.split(",")) for entry in ids)
    return len(set(ids)) < len(ids) or mixed or bool(beyond)


def _ranges_broken(texts: list[str]) -> bool:
    for text in texts:
        for part in text.split(","):
            low, _, high = part.partition("-")
            if not low.strip().isdigit() or (high and (not high.strip().isdigit() or int(high) < int(low))):
                return True
    return False


RULES: Final = (
    Rule(
        fact="D20",
        code="gpus-too-few",
        about=("tensor-parallel-size", "pipeline-parallel-size", "prefill-context-parallel-size", _DP),
        broken=lambda s: (
            s.invocation.gpu_count is not None
            and s.number("nnodes", 1) == 1
            and not is_external(s)
            and world_size(s) > max(1, s.invocation.gpu_count)
        ),
        message="the parallel sizes need more GPUs than the service has",
        remedy="give it more gpus, or lower the sizes",
        reason="vLLM ends while it configures its workers",
    ),
    Rule(
        fact="D20",
        code="gpus-idle",
        about=("tensor-parallel-size", "pipeline-parallel-size"),
        broken=lambda s: (
            s.invocation.gpu_count is not None
            and s.number("nnodes", 1) == 1
            and 0 < world_size(s) < s.invocation.gpu_count
        ),
        message="the parallel sizes use fewer GPUs than the service has",
        remedy="raise tensor-parallel-size or pipeline-parallel-size, or give it fewer gpus",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="seed 2",
        code="tensor-parallel-uneven",
        about=("tensor-parallel-size",),
        broken=lambda s: s.number("tensor-parallel-size", 1) not in {1, 2, 4, 8, 16, 32, 64, 128},
        message="few models have attention heads that {tensor-parallel-size} tensor-parallel ranks can share",
        remedy="use pipeline-parallel-size for an uneven number of GPUs, and for GPUs without NVLink",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="D21",
        code="numa-bind",
        about=("numa-bind-nodes", "numa-bind-cpus"),
        broken=lambda s: s.given("numa-bind-nodes", "numa-bind-cpus") and not _on(s, "numa-bind"),
        message="numa-bind-nodes and numa-bind-cpus need numa-bind",
        remedy="add numa-bind = true",
    ),
    Rule(
        fact="D21",
        code="numa-ranges",
        about=("numa-bind-cpus",),
        broken=lambda s: _ranges_broken([text or "" for text in s.get("numa-bind-cpus") or ()]),
        message="numa-bind-cpus takes ascending ranges such as 0-15 or 0,2-7",
    ),
    Rule(
        fact="D22",
        code="device-ids",
        about=("device-ids", "CUDA_VISIBLE_DEVICES"),
        broken=_bad_devices,
        message="device-ids names a device twice, mixes numbers with UUIDs, or goes beyond"
        " CUDA_VISIBLE_DEVICES",
        remedy="leave it out: the container sees only the service's gpus",
    ),
    Rule(
        fact="D25",
        code="ray-nsight",
        about=("ray-workers-use-nsight",),
        broken=lambda s: _on(s, "ray-workers-use-nsight") and s.get("distributed-executor-backend") != "ray",
        message='ray-workers-use-nsight needs distributed-executor-backend = "ray"',
    ),
    Rule(
        fact="seed 2",
        code="ray-unencrypted",
        about=("distributed-executor-backend", "data-parallel-backend"),
        broken=lambda s: "ray" in {s.get("distributed-executor-backend"), s.get("data-parallel-backend")},
        message="Ray's traffic is not encrypted and carries pickled objects",
        remedy="keep it on a private network, and set VLLM_HOST_IP to the node's address there",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="H8",
        code="nodes-network",
        about=("nnodes", "data-parallel-address"),
        broken=lambda s: (
            (s.number("nnodes", 1) > 1 or s.given("data-parallel-address")) and not s.invocation.host_network
        ),
        message="several nodes reach each other only over the host's network",
        remedy='set network = "host", and VLLM_HOST_IP in env',
        reason="NCCL and vLLM use ports of their own choice",
        stage="start",
    ),
    Rule(
        fact="D24",
        code="moonep",
        about=("all2all-backend",),
        broken=lambda s: (
            s.get("all2all-backend") == "moonep"
            and (
                _on(s, "enable-eplb")
                or s.get("expert-placement-strategy") == "round_robin"
                or s.given("quantization")
            )
        ),
        message='all2all-backend = "moonep" needs unquantized bfloat16, no enable-eplb and linear expert'
        " placement",
        since="0.31",
    ),
    Rule(
        fact="parallel.py",
        code="all2all-removed",
        about=("all2all-backend",),
        broken=lambda s: s.get("all2all-backend") in {"pplx", "naive"},
        message='all2all-backend "{all2all-backend}" is gone: vLLM falls back to allgather_reducescatter',
        remedy="leave it out",
        stage="silent",
        severity="warning",
    ),
)
