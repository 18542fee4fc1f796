"""Options that quadgen gives itself, or whose value decides whether anything can reach the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quadgen.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.vllm.argv import Invocation
    from quadgen.vllm.rule import Settings

_EVERYWHERE: Final = frozenset({"0.0.0.0", "::", "[::]", ""})  # noqa: S104 - inside the container


def owned_findings(settings: Settings) -> Iterator[Finding]:
    """Options that contradict what the service says elsewhere.

    Args:
        settings: What vLLM sees of the service.
    """
    invocation = settings.invocation
    if "model" in settings.keys:
        yield _error(
            settings, "model", "option-owned", "the model is set beside serve", "take it out of serve"
        )
    if "config" in settings.keys:
        yield _error(
            settings,
            "config",
            "option-owned",
            "vLLM's own config file loses every false, and quadgen cannot check it",
            "move its lines into serve",
        )
    if "served-model-name" in settings.keys and invocation.served_names:
        yield _error(
            settings,
            "served-model-name",
            "set-in-both",
            "served-model-name and served-name are both given",
            "keep served-name",
        )
    if "revision" in settings.keys and invocation.revision not in {"", settings.get("revision")}:
        yield _error(settings, "revision", "set-in-both", "revision is given twice, differently", "keep one")
    yield from _address_findings(settings, invocation)


def _address_findings(settings: Settings, invocation: Invocation) -> Iterator[Finding]:
    if "port" in settings.keys and invocation.port not in {None, settings.get("port")}:
        yield _error(
            settings,
            "port",
            "port-contradiction",
            f"port {settings.get('port')} is not the one that is published, {invocation.port}",
            "leave port out: listen says where the service is reached",
        )
    host = settings.get("host")
    if "host" in settings.keys and host not in {None, *_EVERYWHERE} and not invocation.host_network:
        yield _error(
            settings,
            "host",
            "host-unreachable",
            f'host "{host}" inside the container is not reached by a published port',
            "leave host out: listen says which addresses are served",
        )


def _error(settings: Settings, name: str, code: str, message: str, remedy: str) -> Finding:
    path = ("serve", settings.keys[name])
    return Finding(severity="error", code=code, message=message, remedy=remedy, path=path)
