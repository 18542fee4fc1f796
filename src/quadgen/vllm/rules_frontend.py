"""Rules of the HTTP front: parsers, keys, ports, files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quadgen.vllm import names
from quadgen.vllm.rule import Rule

if TYPE_CHECKING:
    from quadgen.vllm.rule import Settings

# vllm/renderers, `ReasoningEffort`.
_EFFORTS: Final = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})
_HIGHEST_PORT: Final = 65535


def _unregistered(s: Settings, option: names.NameKind, plugin: str) -> bool:
    """A parser that is neither built in nor from a plugin (vLLM imports those with 4 letters or more)."""
    value = s.get(option)
    imported = len(s.get(plugin) or "") > len("xyz")
    return bool(value) and not imported and value not in names.known(option, s.release)


def _bad_effort_map(s: Settings) -> bool:
    efforts = s.get("reasoning-effort-map")
    return isinstance(efforts, dict) and not (
        all(isinstance(value, str) for value in efforts.values()) and set(efforts) <= _EFFORTS
    )


def _lists_lora(s: Settings) -> bool:
    modules: Any = s.get("lora-modules")
    return bool(modules)


def _twin_names(s: Settings) -> bool:
    modules = [module.get("name") for module in s.get("lora-modules") or ()]
    served = s.get("served-model-name") or s.invocation.served_names
    return len(set(modules)) < len(modules) or not set(modules).isdisjoint(served)


RULES: Final = (
    Rule(
        fact="F1",
        code="tool-choice-parser",
        about=("enable-auto-tool-choice",),
        broken=lambda s: bool(s.get("enable-auto-tool-choice")) and not s.get("tool-call-parser"),
        message="enable-auto-tool-choice needs tool-call-parser",
        remedy="add tool-call-parser for this model family",
        reason="vLLM cannot tell how the model writes its calls",
        stage="validate",
    ),
    Rule(
        fact="F2",
        code="tool-parser-unknown",
        about=("tool-call-parser",),
        broken=lambda s: (
            bool(s.get("enable-auto-tool-choice"))
            and _unregistered(s, "tool-call-parser", "tool-parser-plugin")
        ),
        message='tool-call-parser: vLLM has no parser "{tool-call-parser}"',
        reason="it is looked up once the engine is up, and then the server ends",
        stage="start",
    ),
    Rule(
        fact="F2",
        code="tool-parser-unused",
        about=("tool-call-parser",),
        broken=lambda s: bool(s.get("tool-call-parser")) and not s.get("enable-auto-tool-choice"),
        message="tool-call-parser does nothing without enable-auto-tool-choice",
        remedy="add enable-auto-tool-choice = true",
        reason="tools are then called only by name",
        stage="silent",
        severity="warning",
    ),
    Rule(
        fact="F3",
        code="reasoning-parser-unknown",
        about=("reasoning-parser",),
        broken=lambda s: _unregistered(s, "reasoning-parser", "reasoning-parser-plugin"),
        message='reasoning-parser: vLLM has no parser "{reasoning-parser}"',
        reason="it is looked up once the engine is up, and then the server ends",
        stage="start",
    ),
    Rule(
        fact="F4",
        code="log-outputs-requests",
        about=("enable-log-outputs",),
        broken=lambda s: bool(s.get("enable-log-outputs")) and not s.get("enable-log-requests"),
        message="enable-log-outputs needs enable-log-requests",
        remedy="add enable-log-requests = true, or leave both out",
        stage="validate",
    ),
    Rule(
        fact="F5",
        code="request-metrics-stats",
        about=("enable-per-request-metrics", "disable-log-stats"),
        broken=lambda s: bool(s.get("enable-per-request-metrics")) and bool(s.get("disable-log-stats")),
        message="enable-per-request-metrics needs the statistics that disable-log-stats switches off",
        stage="validate",
        since="0.25",
    ),
    Rule(
        fact="F6",
        code="sse-interval",
        about=("sse-keep-alive-interval",),
        broken=lambda s: s.number("sse-keep-alive-interval") < 0,
        message="sse-keep-alive-interval is {sse-keep-alive-interval}; it must be at least 0",
        stage="validate",
        since="0.29",
    ),
    Rule(
        fact="F7",
        code="reasoning-effort-map",
        about=("reasoning-effort-map",),
        broken=_bad_effort_map,
        message="reasoning-effort-map maps efforts to text; efforts are " + ", ".join(sorted(_EFFORTS)),
        stage="validate",
        since="0.33",
    ),
    Rule(
        fact="F9",
        code="grpc-port",
        about=("grpc-port",),
        broken=lambda s: s.given("grpc-port") and not s.switched_on("VLLM_USE_RUST_FRONTEND"),
        message="grpc-port needs the Rust front",
        remedy='set VLLM_USE_RUST_FRONTEND = "1" in env, or leave grpc-port out',
        stage="validate",
    ),
    Rule(
        fact="F9",
        code="grpc-port",
        about=("grpc-port",),
        broken=lambda s: (
            s.given("grpc-port")
            and (
                bool(s.get("grpc"))
                or bool(s.get("headless"))
                or s.number("api-server-count", 1) <= 0
                or bool(s.get("data-parallel-multi-port-external-lb"))
            )
        ),
        message="grpc-port excludes grpc, headless, an api-server-count of 0 and the multi-port load"
        " balancer",
        stage="validate",
    ),
    Rule(
        fact="F9",
        code="grpc-port",
        about=("grpc-port",),
        broken=lambda s: (
            s.given("grpc-port")
            and (
                not 0 <= s.number("grpc-port") <= _HIGHEST_PORT
                or (s.number("grpc-port") == s.number("port") != 0 and not s.given("uds"))
            )
        ),
        message="grpc-port {grpc-port} must be a port, and another one than port {port}",
        stage="validate",
    ),
    Rule(
        fact="seed 2",
        code="grpc-reachable",
        about=("grpc", "grpc-port"),
        broken=lambda s: (bool(s.get("grpc")) or s.given("grpc-port")) and s.invocation.reachable,
        message="gRPC of vLLM has no keys and is for trusted networks only",
        remedy="listen on 127.0.0.1, or leave it out",
        reason="its interfaces are documented as private",
        stage="silent",
    ),
    Rule(
        fact="F12",
        code="lora-enable",
        about=("lora-modules",),
        broken=lambda s: _lists_lora(s) and not s.get("enable-lora"),
        message="lora-modules needs enable-lora",
        remedy="add enable-lora = true",
        reason="vLLM says so only after the engine is up",
        stage="start",
    ),
    Rule(
        fact="F12",
        code="lora-names",
        about=("lora-modules",),
        broken=_twin_names,
        message="two of the names in lora-modules and the served names are the same",
        reason="a request could then reach only one of them",
        stage="silent",
    ),
    Rule(
        fact="F14",
        code="tls-key",
        about=("ssl-certfile", "ssl-keyfile"),
        broken=lambda s: s.given("ssl-certfile") != s.given("ssl-keyfile"),
        message="ssl-certfile and ssl-keyfile go together",
        remedy="give both; one PEM file may be named twice",
        reason="vLLM notices only after the engine is up",
        stage="start",
        severity="warning",
    ),
    Rule(
        fact="F15",
        code="lora-updating-servers",
        about=("api-server-count", "VLLM_ALLOW_RUNTIME_LORA_UPDATING"),
        broken=lambda s: (
            s.switched_on("VLLM_ALLOW_RUNTIME_LORA_UPDATING") and s.number("api-server-count", 1) > 1
        ),
        message="VLLM_ALLOW_RUNTIME_LORA_UPDATING works with one API server only",
        remedy="set api-server-count = 1",
        stage="start",
    ),
    Rule(
        fact="F13",
        code="uds-socket",
        about=("uds",),
        broken=lambda s: s.given("uds"),
        message="uds makes vLLM ignore host and port, and it leaves the socket file behind at exit",
        remedy="keep the socket in a folder that is new at every start, or use a port",
        reason="the next start then dies with 'address in use'",
        stage="start",
        severity="warning",
    ),
)
