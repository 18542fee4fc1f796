"""Values of free-text options that vLLM looks up late: after the parser, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quadgen.findings import Finding
from quadgen.vllm import names
from quadgen.vllm.nearest import nearest_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.findings import Severity
    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.rule import Settings


@dataclass(frozen=True, slots=True)
class Lookup:
    """Where the values of an option are looked up.

    Args:
        option: The option.
        kind: The names that vLLM itself knows; empty for the option's own suggestions.
        severity: An error where no plugin could add a name, else a warning.
        any_case: Whether vLLM makes the text upper case first.
        dotted: Whether a dotted Python name is taken as well.
    """

    option: str
    kind: names.NameKind | None
    severity: Severity = "error"
    any_case: bool = False
    dotted: bool = False


LOOKUPS: Final = (
    Lookup("kv-cache-dtype", None),
    Lookup("attention-backend", "attention-backend", any_case=True),
    Lookup("mm-encoder-attn-backend", "attention-backend", any_case=True),
    Lookup("mamba-backend", "mamba-backend", any_case=True),
    Lookup("quantization", "quantization", severity="warning"),
    Lookup("load-format", "load-format", severity="warning"),
    Lookup("tokenizer-mode", None, severity="warning"),
    Lookup("config-format", None, severity="warning"),
    Lookup("model-impl", None, severity="warning"),
    Lookup("distributed-executor-backend", None, severity="warning", dotted=True),
)


def value_findings(settings: Settings, catalog: Catalog) -> Iterator[Finding]:
    """Values that the release does not know, with what comes closest.

    Args:
        settings: What vLLM sees of the service.
        catalog: The release's catalog.
    """
    for lookup in LOOKUPS:
        value = settings.values.get(lookup.option)
        if isinstance(value, str) and not _is_known(lookup, value, catalog):
            yield _finding(lookup, value, settings, catalog)


def _candidates(lookup: Lookup, catalog: Catalog) -> tuple[str, ...]:
    if lookup.kind is not None:
        return names.known(lookup.kind, catalog.release)
    option = catalog.options[lookup.option]
    return tuple(map(str, option.suggestions or option.choices))


def _is_known(lookup: Lookup, value: str, catalog: Catalog) -> bool:
    candidates = _candidates(lookup, catalog)
    return (
        not candidates
        or value in candidates
        or (lookup.any_case and (value.upper() in candidates or value.lower() == "auto"))
        or (lookup.dotted and "." in value)
    )


def _finding(lookup: Lookup, value: Any, settings: Settings, catalog: Catalog) -> Finding:
    return Finding(
        severity=lookup.severity,
        code="value-unknown",
        message=f'{lookup.option}: vLLM {catalog.release} knows no "{value}"{_when(lookup, value, catalog)}',
        remedy=nearest_value(lookup.option, value, _candidates(lookup, catalog)),
        path=("serve", settings.keys[lookup.option]),
    )


def _when(lookup: Lookup, value: str, catalog: Catalog) -> str:
    """Which other release knows the name."""
    having = (
        names.releases_of(lookup.kind, value.upper() if lookup.any_case else value) if lookup.kind else ()
    )
    if not having:
        return ""
    at = [int(part) for part in catalog.release.split(".")]
    later = [release for release in having if [int(part) for part in release.split(".")] > at]
    return f"; it is new in {later[0]}" if later else f"; it was there until {having[-1]}"
