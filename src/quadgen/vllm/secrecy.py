"""Secrets in plain text, and placeholders that nobody filled in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from quadgen.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from quadgen.vllm.catalog import Catalog

# The key of the spec that takes the name of a Podman secret instead.
_INSTEAD: Final = {
    "api-key": 'write api-key = "NAME" beside serve, and make the secret: podman secret create NAME -',
    "hf-token": 'write hf-token = "NAME" beside serve, and make the secret: podman secret create NAME -',
    "VLLM_API_KEY": 'write api-key = "NAME" beside serve, and make the secret: podman secret create NAME -',
    "HF_TOKEN": 'write hf-token = "NAME" beside serve, and make the secret: podman secret create NAME -',
}
_NAME: Final = (
    r"(API_?KEY|SECRET|PASSWORD|PASSWD|ACCESS_KEY(_ID)?|(?<!MAX_)(?<!NUM_)TOKEN|HUB_TOKEN|CREDENTIALS)$"
)
# Names that look secret and are not.
_OPEN_NAMES: Final = frozenset({"HF_HUB_DISABLE_IMPLICIT_TOKEN"})
# What tokens of well-known services look like.
_LOOK: Final = (
    r"(?<![A-Za-z0-9])(hf_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{30,})"
)
_PLACEHOLDER: Final = (
    r"(?i)^(hf_?your\w*|your[-_ ].*|<[a-z][a-z0-9_ -]*>|change[-_]?me|replace[-_ ]?me|x{3,}|todo|\.\.\.|…|"
    r"my[-_](token|key|secret)|\$\{?[A-Z_]+\}?)$"
)


def secret_findings(
    options: Mapping[str, Any], env: Mapping[str, str], catalog: Catalog | None
) -> Iterator[Finding]:
    """Every value that should be a Podman secret; none of the findings shows a value.

    Args:
        options: The `serve` table.
        env: Environment variables of the container.
        catalog: The release's catalog, where there is one.
    """
    for key, value in options.items():
        if _is_secret_option(key, value, catalog):
            yield _secret(("serve", key), key, _INSTEAD.get(key.replace("_", "-"), ""))
        elif _has_token(value):
            yield _secret(("serve", key), key, "")
    for name, value in env.items():
        if value and (_is_secret_name(name) or _has_token(value)):
            yield _secret(("env", name), name, _INSTEAD.get(name, ""))


def _is_secret_option(key: str, value: Any, catalog: Catalog | None) -> bool:
    if isinstance(value, bool) or value in ("", [], "None"):
        return False
    match = catalog.find(key) if catalog else None
    return match.option.secret if match else key.replace("_", "-") in {"api-key", "hf-token"}


def _is_secret_name(name: str) -> bool:
    return name not in _OPEN_NAMES and re.search(_NAME, name) is not None


def _has_token(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_token(item) for item in value.values())
    if isinstance(value, list):
        return any(_has_token(item) for item in value)
    return isinstance(value, str) and len(value) >= _SHORTEST_TOKEN and re.search(_LOOK, value) is not None


_SHORTEST_TOKEN: Final = 20


def _secret(path: tuple[str, ...], name: str, remedy: str) -> Finding:
    return Finding(
        severity="error",
        code="secret-in-plain-text",
        message=f"{name} holds a secret in plain text, which unit files and process lists show to others",
        remedy=remedy
        or f'use secrets = {{ {name.replace("-", "_").upper()} = "NAME" }} with a Podman secret',
        path=path,
    )


def placeholder_findings(model: str, env: Mapping[str, str], options: Mapping[str, Any]) -> Iterator[Finding]:
    """Values that an example meant to be replaced.

    Args:
        model: The service's model.
        env: Environment variables of the container.
        options: The `serve` table.
    """
    if is_placeholder(model):
        yield _placeholder(("model",), "model", model)
    for name, value in env.items():
        if is_placeholder(value):
            yield _placeholder(("env", name), name, value)
    for key, value in options.items():
        if isinstance(value, str) and key.replace("_", "-") in _REAL_NAMES and is_placeholder(value):
            yield _placeholder(("serve", key), key, value)


# Options whose value names a real thing: a placeholder is never meant.
_REAL_NAMES: Final = frozenset(
    {
        "revision",
        "tokenizer",
        "code-revision",
        "tokenizer-revision",
        "spec-model",
        "hf-config-path",
        "download-dir",
    }
)


def is_placeholder(value: str) -> bool:
    """Whether a value is one of the usual stand-ins: `<token>`, `changeme`, `hf_your_token`."""
    return re.fullmatch(_PLACEHOLDER, value.strip()) is not None


def _placeholder(path: tuple[str, ...], name: str, value: str) -> Finding:
    return Finding(
        severity="error",
        code="placeholder",
        message=f'{name} still holds the placeholder "{value}"',
        remedy="put the real value there, or take the line out",
        path=path,
    )
