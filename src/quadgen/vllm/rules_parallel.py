"""Rules of parallelism, nodes and devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quadgen.vllm.rule import Rule

if TYPE_CHECKING:
    from quadgen.vllm.rule import Settings

_DP: Final = "data-parallel-size"
_LOCAL: Final = "data-parallel-size-local"
_EXTERNAL: Final = ("data-parallel-external-lb", "data-parallel-rank")
_HYBRID: Final = "data-parallel-hybrid-lb"
_MULTI: Final = "data-parallel-multi-port-external-lb"
_MINIMUM_MULTI: Final = 2


def _on(s: Settings, name: str) -> bool:
    return bool(s.get(name))


def is_external(s: Settings) -> bool:
    """Whether ranks are balanced from outside, one process each."""
    return _on(s, "data-parallel-external-lb") or s.given("data-parallel-rank")


def _modes(s: Settings) -> int:
    return _on(s, _MULTI) + is_external(s) + (_on(s, _HYBRID) or s.given("data-parallel-start-rank"))


def world_size(s: Settings) -> int:
    """How many ranks there are over all nodes."""
    return (
        s.number(_DP, 1)
        * s.number("pipeline-parallel-size", 1)
        * s.number("tensor-parallel-size", 1)
        * s.number("prefill-context-parallel-size", 1)
    )


def _rank_missing(s: Settings) -> bool:
    """Without a rank, vLLM works it out only from the node's rank, and only over several nodes."""
    if not _on(s, "data-parallel-external-lb") or s.given("data-parallel-rank"):
        return False
    return s.number("nnodes", 1) <= 1 or s.number(_DP, 1) <= 1


def _multi_port_broken(s: Settings) -> bool:
    size, local = s.number(_DP, 1), s.number(_LOCAL)
    port, last = s.number("port"), s.number("port") + local - 1
    return (
        _on(s, "grpc")
        or s.given("uds", "data-parallel-rank")
        or s.given("ssl-keyfile") != s.given("ssl-certfile")
        or s.get("api-server-count") not in {None, 1}
        or size < _MINIMUM_MULTI
        or not _MINIMUM_MULTI <= local <= size
        or size % local != 0
        or s.number("data-parallel-start-rank") + local > size
        or port <= s.number("data-parallel-supervisor-port") <= last
    )


def _bad_context(s: Settings) -> bool:
    tp = s.number("tensor-parallel-size", 1)
    pcp = s.number("prefill-context-parallel-size", 1)
    dcp = s.number("decode-context-parallel-size", 1)
    if dcp < 1:
        return False
    return tp % dcp != 0 if pcp == 1 else dcp not in {1, pcp, tp * pcp}


RULES: Final = (
    Rule(
        fact="D1",
        code="load-balancing-modes",
        about=(_MULTI, *_EXTERNAL, _HYBRID, "data-parallel-start-rank"),
        broken=lambda s: _modes(s) > 1,
        message="only one way of balancing data-parallel ranks may be chosen: multi-port, external or hybrid",
        stage="start",
        since="0.22",
    ),
    Rule(
        fact="D2",
        code="load-balancing-modes",
        about=(_HYBRID, "data-parallel-external-lb"),
        broken=lambda s: _on(s, _HYBRID) and _on(s, "data-parallel-external-lb"),
        message="data-parallel-hybrid-lb excludes data-parallel-external-lb",
        until="0.22",
        severity="warning",
        stage="silent",
    ),
    Rule(
        fact="D3",
        code="nodes-backend",
        about=("nnodes", "data-parallel-backend"),
        broken=lambda s: s.number("nnodes", 1) > 1 and s.get("data-parallel-backend") != "mp",
        message='nnodes {nnodes} needs data-parallel-backend = "mp"',
    ),
    Rule(
        fact="D3",
        code="data-parallel-backend",
        about=("data-parallel-backend",),
        broken=lambda s: s.get("data-parallel-backend") not in {"mp", "ray"},
        message='data-parallel-backend is mp or ray, not "{data-parallel-backend}"',
    ),
    Rule(
        fact="D4",
        code="nodes-world",
        about=("nnodes",),
        broken=lambda s: s.number("nnodes", 1) > 1 and world_size(s) % s.number("nnodes", 1) != 0,
        message="nnodes {nnodes} must divide the product of the data, pipeline, tensor and"
        " prefill-context sizes",
    ),
    Rule(
        fact="D5",
        code="nodes-rank",
        about=("node-rank", "nnodes"),
        broken=lambda s: (
            s.given("node-rank") and not 0 <= s.number("node-rank") < max(1, s.number("nnodes", 1))
        ),
        message="node-rank {node-rank} must be at least 0 and below nnodes {nnodes}",
    ),
    Rule(
        fact="D6",
        code="external-rank",
        about=("data-parallel-external-lb",),
        broken=lambda s: (
            s.number("nnodes", 1) > 1
            and s.number(_DP, 1) > 1
            and _on(s, "data-parallel-external-lb")
            and not s.given("data-parallel-rank")
            and s.number("nnodes", 1) % s.number(_DP, 1) != 0
        ),
        message="the node's rank does not say which data-parallel rank it is",
        remedy="set data-parallel-rank on every node",
    ),
    Rule(
        fact="D7",
        code="external-rank",
        about=_EXTERNAL,
        broken=_rank_missing,
        message="data-parallel-external-lb needs data-parallel-rank",
        remedy="set it, different for every instance",
    ),
    Rule(
        fact="D7",
        code="external-size",
        about=_EXTERNAL,
        broken=lambda s: is_external(s) and s.number(_DP, 1) <= 1,
        message="external load balancing needs data-parallel-size above 1",
    ),
    Rule(
        fact="D7",
        code="external-local",
        about=(_LOCAL, *_EXTERNAL),
        broken=lambda s: is_external(s) and s.get(_LOCAL) not in {None, 1},
        message="external load balancing has one rank a process: data-parallel-size-local must be 1 or"
        " left out",
    ),
    Rule(
        fact="D9",
        code="hybrid-local",
        about=(_HYBRID,),
        broken=lambda s: (
            _on(s, _HYBRID) and not is_external(s) and not s.given(_LOCAL) and s.number("nnodes", 1) <= 1
        ),
        message="data-parallel-hybrid-lb needs data-parallel-size-local",
    ),
    Rule(
        fact="D9",
        code="hybrid-single",
        about=(_HYBRID,),
        broken=lambda s: _on(s, _HYBRID) and s.get(_LOCAL) == 1,
        message="data-parallel-hybrid-lb with one local rank becomes external load balancing",
        remedy="set data-parallel-external-lb instead",
        severity="warning",
        stage="silent",
    ),
    Rule(
        fact="D10",
        code="data-parallel-local",
        about=(_LOCAL,),
        broken=lambda s: s.number(_LOCAL) > s.number(_DP, 1),
        message="data-parallel-size-local {data-parallel-size-local} is above data-parallel-size"
        " {data-parallel-size}",
    ),
    Rule(
        fact="D10",
        code="data-parallel-rank",
        about=("data-parallel-rank", "data-parallel-start-rank"),
        broken=lambda s: any(
            s.given(name) and not 0 <= s.number(name) < max(1, s.number(_DP, 1))
            for name in ("data-parallel-rank", "data-parallel-start-rank")
        ),
        message="a data-parallel rank must be at least 0 and below data-parallel-size {data-parallel-size}",
    ),
    Rule(
        fact="D11",
        code="fault-tolerance",
        about=("enable-fault-tolerance",),
        broken=lambda s: (
            _on(s, "enable-fault-tolerance") and (not is_external(s) or s.number("api-server-count", 1) > 1)
        ),
        message="enable-fault-tolerance needs external load balancing and one API server",
    ),
    Rule(
        fact="D12",
        code="headless",
        about=("headless",),
        broken=lambda s: (
            _on(s, "headless") and (s.number("api-server-count") > 0 or _on(s, _HYBRID) or s.get(_LOCAL) == 0)
        ),
        message="headless has no API server, no hybrid load balancing, and at least one local rank",
        stage="start",
    ),
    Rule(
        fact="D12",
        code="headless-gate",
        about=("headless",),
        broken=lambda s: _on(s, "headless"),
        message="headless answers no HTTP, so nothing can tell when it is ready or well",
        remedy="run such a node outside of quadgen",
        reason="every start of quadgen waits for an answer",
        stage="silent",
    ),
    Rule(
        fact="D13",
        code="multi-port",
        about=(_MULTI,),
        broken=lambda s: _on(s, _MULTI) and _multi_port_broken(s),
        message="the multi-port load balancer needs a data-parallel-size of 2 or more, a local size that"
        " divides it,"
        " ports of its own, key and certificate together, and neither grpc, uds, a rank nor several API"
        " servers",
        stage="validate",
    ),
    Rule(
        fact="D14",
        code="eplb-parallel",
        about=("enable-eplb",),
        broken=lambda s: (
            _on(s, "enable-eplb")
            and (
                not _on(s, "enable-expert-parallel")
                or s.number("tensor-parallel-size", 1)
                * s.number("prefill-context-parallel-size", 1)
                * s.number(_DP, 1)
                <= 1
            )
        ),
        message="enable-eplb needs enable-expert-parallel and more than one tensor, prefill-context or"
        " data rank",
    ),
    Rule(
        fact="D14",
        code="eplb-experts",
        about=("eplb-config",),
        broken=lambda s: bool(s.part("eplb-config", "num_redundant_experts")) and not _on(s, "enable-eplb"),
        message="eplb-config.num_redundant_experts needs enable-eplb",
    ),
    Rule(
        fact="D15",
        code="elastic-ep",
        about=("enable-elastic-ep",),
        broken=lambda s: (
            _on(s, "enable-elastic-ep")
            and (not _on(s, "enable-eplb") or s.number("pipeline-parallel-size", 1) > 1 or _on(s, _HYBRID))
        ),
        message="enable-elastic-ep needs enable-eplb, one pipeline stage and no hybrid load balancing",
    ),
    Rule(
        fact="D15",
        code="elastic-ep-size",
        about=("elastic-ep-max-dp-size",),
        broken=lambda s: (
            _on(s, "enable-elastic-ep")
            and s.given("elastic-ep-max-dp-size")
            and s.number("elastic-ep-max-dp-size") < s.number(_DP, 1)
        ),
        message="elastic-ep-max-dp-size {elastic-ep-max-dp-size} is below data-parallel-size"
        " {data-parallel-size}",
    ),
    Rule(
        fact="D16",
        code="context-parallel",
        about=("decode-context-parallel-size", "prefill-context-parallel-size"),
        broken=_bad_context,
        message="decode-context-parallel-size {decode-context-parallel-size} does not fit"
        " tensor-parallel-size"
        " {tensor-parallel-size} and prefill-context-parallel-size {prefill-context-parallel-size}",
        remedy="without prefill context it divides the tensor size; with it, it is 1, that size, or their"
        " product",
    ),
)
