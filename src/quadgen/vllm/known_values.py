"""Values of free-text options that vLLM looks up late: after the parser, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from quadgen.findings import Finding
from quadgen.vllm import names
from quadgen.vllm.catalog import version
from quadgen.vllm.nearest import nearest_value, other_releases
from quadgen.vllm.shapes import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.findings import Severity
    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.option import Option
    from quadgen.vllm.rule import Settings


@dataclass(frozen=True, slots=True)
class Lookup:
    """Where the values of an option are looked up to which a plugin may add.

    Args:
        option: The option.
        kind: The names that vLLM itself knows; empty for the option's own suggestions.
        dotted: Whether a dotted Python name is taken as well.
    """

    option: str
    kind: names.NameKind | None
    dotted: bool = False


# Of the rest, the catalog has the values that the engine takes (`late_choices`).
LOOKUPS: Final = (
    Lookup("quantization", "quantization"),
    Lookup("load-format", "load-format"),
    Lookup("tokenizer-mode", None),
    Lookup("config-format", None),
    Lookup("model-impl", None),
    Lookup("distributed-executor-backend", None, dotted=True),
)


def value_findings(settings: Settings, catalog: Catalog) -> Iterator[Finding]:
    """Values that the release does not know, with what comes closest.

    Args:
        settings: What vLLM sees of the service.
        catalog: The release's catalog.
    """
    for name, value in settings.values.items():
        option = catalog.options[name]
        if option.late_choices and isinstance(value, str) and not _is_late_choice(option, value):
            choices = tuple(map(str, option.late_choices))
            remedy = nearest_value(name, value, choices) or f"it must be {listed(choices, name)}"
            message = _unknown(name, value, catalog) + other_releases(name, value, catalog.release)
            yield _finding("error", name, message, remedy, settings)
    for lookup in LOOKUPS:
        value = settings.values.get(lookup.option)
        if isinstance(value, str) and not _is_known(lookup, value, catalog):
            message = _unknown(lookup.option, value, catalog) + _when(lookup, value, catalog)
            remedy = nearest_value(lookup.option, value, _candidates(lookup, catalog))
            yield _finding("warning", lookup.option, message, remedy, settings)


def _is_late_choice(option: Option, value: str) -> bool:
    if value in option.late_choices or (value.lower() == "auto" and option.default in {None, "auto"}):
        return True
    return option.any_case and value.upper() in {str(choice).upper() for choice in option.late_choices}


def _candidates(lookup: Lookup, catalog: Catalog) -> tuple[str, ...]:
    if lookup.kind is not None:
        return names.known(lookup.kind, catalog.release)
    option = catalog.options[lookup.option]
    return tuple(map(str, option.suggestions or option.choices))


def _is_known(lookup: Lookup, value: str, catalog: Catalog) -> bool:
    candidates = _candidates(lookup, catalog)
    return not candidates or value in candidates or (lookup.dotted and "." in value)


def _unknown(name: str, value: str, catalog: Catalog) -> str:
    return f'{name}: vLLM {catalog.release} knows no "{value}"'


def _finding(severity: Severity, name: str, message: str, remedy: str, settings: Settings) -> Finding:
    path = ("serve", settings.keys[name])
    return Finding(severity=severity, code="value-unknown", message=message, remedy=remedy, path=path)


def _when(lookup: Lookup, value: str, catalog: Catalog) -> str:
    """Which other release knows the name."""
    having = names.releases_of(lookup.kind, value) if lookup.kind else ()
    if not having:
        return ""
    later = [release for release in having if version(release) > version(catalog.release)]
    return f"; it is new in {later[0]}" if later else f"; it was there until {having[-1]}"
