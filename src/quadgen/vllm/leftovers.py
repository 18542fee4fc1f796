"""What a copied command line leaves behind in values: quotes, equals signs, other options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from quadgen.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from quadgen.findings import Severity
    from quadgen.vllm.catalog import Catalog

# Kinds whose parser takes any text: there a leftover is only likely, not sure.
_FREE: Final = frozenset({"text", "text-list", "json-or-text"})


def model_findings(model: str) -> Iterator[Finding]:
    """A model that is a command line, or no name at all.

    Args:
        model: Hub id or path.
    """
    words = model.split()
    reason = ""
    if not words:
        reason = "the model has no name"
    elif model.startswith("-"):
        reason = f'the model "{model}" begins with a dash, and vLLM would take it for an option'
    elif words[0] == "vllm" or words[:2] == ["serve", words[-1]]:
        reason = f'"{model}": the image already runs `vllm serve`'
    elif len(words) > 1 and not model.startswith("/"):
        reason = f'the model "{model}" is more than one word'
    if reason:
        code = "command-leftover" if words and words[0] in {"vllm", "serve"} else "model-name"
        remedy = "give the model only; options go into serve"
        yield Finding(severity="error", code=code, message=reason, remedy=remedy, path=("model",))


def value_leftovers(options: Mapping[str, Any], catalog: Catalog) -> Iterator[Finding]:
    """Values that still look like a command line.

    Args:
        options: The `serve` table.
        catalog: The release's catalog.
    """
    for key, value in options.items():
        match = catalog.find(key)
        if match is None or match.option.secret:
            continue
        severity: Severity = "warning" if match.option.kind in _FREE else "error"
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                yield from _text_findings(key, match.option.name, text, severity, catalog)


def _text_findings(key: str, name: str, text: str, severity: Severity, catalog: Catalog) -> Iterator[Finding]:
    if _repeats_option(name, text):
        yield Finding(
            severity=severity,
            code="key-value-leftover",
            message=f'{key}: "{text}" repeats the option',
            remedy=f'write {name} = "{text.partition("=")[2]}"',
            path=("serve", key),
        )
    elif len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        yield Finding(
            severity=severity,
            code="quotes-in-value",
            message=f"{key}: {text} still has the quotes of a shell inside",
            remedy="take the inner quotes away: the value reaches vLLM as it is",
            path=("serve", key),
        )
    elif _other_option(text, catalog):
        yield Finding(
            severity=severity,
            code="several-words",
            message=f'{key}: "{text}" holds another option',
            remedy="give each option a line of its own",
            path=("serve", key),
        )


def _repeats_option(name: str, text: str) -> bool:
    before, equals, _ = text.partition("=")
    return bool(equals) and before.lstrip("-").replace("_", "-") == name


def _other_option(text: str, catalog: Catalog) -> bool:
    found = re.search(r"(?:^|\s)--?([a-z][a-z0-9_-]+)", text) if "-" in text else None
    return found is not None and catalog.find(found[1]) is not None
