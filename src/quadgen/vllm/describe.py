"""One option in words and as JSON, for `quadgen options`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadgen.vllm.releases import VERSIONS

if TYPE_CHECKING:
    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.option import Kind, Option

# How the value is written in quadgen.toml.
WORDS: dict[Kind, str] = {
    "flag": "true",
    "boolean": "true or false",
    "int": "whole number",
    "float": "number",
    "text": "text",
    "choice": "one of the choices",
    "size": "whole number, or text such as 8k (8000) or 8K (8192)",
    "size-or-auto": "whole number, text such as 8k (8000) or 8K (8192), or auto",
    "json": "table, or JSON as text",
    "json-or-text": "table, or text",
    "lora": "list of NAME=PATH, or of tables with name and path",
    "level": "0, 1, 2 or 3",
    "text-list": "list of text",
    "int-list": "list of whole numbers",
    "choice-list": "list out of the choices",
}


def value_words(option: Option) -> str:
    """What the option's value is and how it is written, in a few words."""
    words = WORDS[option.kind]
    if option.arity == "?":
        words += ", or true for none"
    if option.repeats:
        words += ", or a list of it"
    return f"{words}, {option.bounds}" if option.bounds else words


def default_words(option: Option) -> str:
    """The default as quadgen.toml would have it; empty where vLLM decides or leaves the thing off."""
    if option.default is None or option.default in ("", [], {}):
        return ""
    if isinstance(option.default, bool):
        return str(option.default).lower()
    if isinstance(option.default, list):
        return ", ".join(map(str, option.default))
    return str(option.default)


def age_words(option: Option) -> str:
    """When the option came, last changed and went: `0.22, changed 0.28, until 0.30`."""
    oldest = next(iter(VERSIONS))
    words = [f"{option.since} or before" if option.since == oldest else option.since]
    if option.changed:
        words.append(f"changed {option.changed[-1]}")
    if option.until:
        words.append(f"until {option.until}")
    return ", ".join(words)


def describe(option: Option, catalog: Catalog) -> dict[str, Any]:
    """All that is known about an option in one release, as `--json` prints it.

    Args:
        option: The option.
        catalog: The release that it is of.
    """
    found = {
        "name": option.name,
        "release": catalog.release,
        "summary": option.summary,
        "value": value_words(option),
        "kind": option.kind,
        "default": option.default,
        "choices": list(option.choices),
        "suggestions": list(option.late_choices or option.suggestions),
        "flags": list(option.flags),
        "negative": list(option.negative),
        "group": option.group,
        "since": option.since,
        "changed": list(option.changed),
        "until": option.until,
        "deprecated": option.deprecated,
        "replacement": option.replacement,
        "launch-render": option.renders,
    }
    if option.json_class:
        keys = catalog.json_class(option.json_class).keys.values()
        found["keys"] = [
            {"name": key.name, "type": key.type, "choices": list(key.choices), "default": key.default}
            for key in keys
        ]
    return found
