"""Values of JSON options: tables, lists, JSON text, LoRA modules."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from quadgen.vllm.reading import Reading, UnfitValueError, is_unset, spelled, wrong
from quadgen.vllm.sizes import parse_size

if TYPE_CHECKING:
    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.option import Option


def read_json(option: Option, value: Any, catalog: Catalog) -> Reading:
    """A table, a list, a number or JSON text as one JSON word.

    Args:
        option: Its row in the catalog.
        value: What the spec holds.
        catalog: The release's catalog.

    Raises:
        UnfitValueError: vLLM would refuse it.
    """
    if isinstance(value, str):
        return _json_text(option, value, catalog)
    if isinstance(value, bool):
        raise wrong(_json_shape(option), value)
    plain = _plain(value)
    return Reading((to_json(plain),), _object(option, plain, catalog))


def _json_text(option: Option, text: str, catalog: Catalog) -> Reading:
    if is_unset(option, text):
        return Reading((text,), None)
    checked = option.json_class is not None and catalog.json_class(option.json_class).checked
    try:
        value = json.loads(_expand_sizes(text) if checked else text)
    except ValueError:
        raise wrong("JSON", text, _json_remedy(text), code="value-json") from None
    return Reading((text,), _object(option, value, catalog))


def _json_remedy(text: str) -> str:
    if text[:1] in "'\"" and text[:1] == text[-1:]:
        return "take the inner quotes away, or write it as a TOML table"
    if "\\" in text or "'" in text:
        return "it was quoted for a shell: write it as a TOML table"
    return "write it as a TOML table"


def _expand_sizes(text: str) -> str:
    """Bare sizes such as 80m become numbers, outside of strings (vLLM's JSON classes take them)."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    for index in range(0, len(parts), 2):
        parts[index] = re.sub(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b", lambda m: str(parse_size(m[0])), parts[index])
    return "".join(parts)


# JSON options that are lists of text; every other one is an object.
_JSON_LISTS: Final = frozenset({"allowed-origins", "allowed-methods", "allowed-headers"})


def _json_shape(option: Option) -> str:
    return 'a list of text, such as ["*"]' if option.name in _JSON_LISTS else "a table"


def _object(option: Option, value: Any, catalog: Catalog) -> Any:
    if option.name in _JSON_LISTS:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise wrong(_json_shape(option), value, code="json-shape")
        return value
    late = option.json_class is None or not catalog.json_class(option.json_class).checked
    if value is None and late:
        return None
    if not isinstance(value, dict):
        raise wrong(_json_shape(option), value, code="json-shape" if late else "value-type")
    if option.json_class is None:
        return value
    from quadgen.vllm.json_options import ObjectReader  # noqa: PLC0415 - types and rules of all classes

    reader = ObjectReader(catalog)
    read = reader.read(option.json_class, _normal_keys(option, value))
    if reader.problems:
        when = "-at-start" if late else ""
        raise UnfitValueError(*(problem._replace(code=problem.code + when) for problem in reader.problems))
    return read


def _normal_keys(option: Option, value: dict[str, Any]) -> dict[str, Any]:
    """In `speculative-config` alone vLLM reads `-` in a key as `_`."""
    if option.name != "speculative-config":
        return value
    return {key.replace("-", "_"): item for key, item in value.items()}


def read_json_or_text(option: Option, value: Any, catalog: Catalog) -> Reading:
    """The same, for an option that also takes plain text (arguments as for `read_json`)."""
    if isinstance(value, (dict, list)):
        return read_json(option, value, catalog)
    word = spelled(value)
    if not re.fullmatch(r"(?s)\s*{.*}\s*", word):
        return Reading((word,), word)
    try:
        return Reading((word,), json.loads(word))
    except ValueError:
        raise wrong("JSON", word, _json_remedy(word), code="value-json") from None


def _plain(value: Any) -> Any:
    """A table or list without anything that JSON cannot hold.

    Raises:
        UnfitValueError: It has a date or a time inside.
    """
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise wrong("text, a number, true, false, a list or a table", value, "quote it")


def to_json(value: Any) -> str:
    """One JSON word: compact, in the order of the spec, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_lora(_option: Option, value: Any, _catalog: Catalog) -> Reading:
    """LoRA modules: one word each (arguments as for `read_json`)."""
    items = value if isinstance(value, list) else [value]
    if not items:
        raise wrong("a list with something in it", value, "leave the option out")
    readings = [_lora_module(item) for item in items]
    return Reading(tuple(r.words[0] for r in readings), [r.value for r in readings if r.value is not None])


_LORA_KEYS: Final = frozenset({"name", "path", "base_model_name", "is_3d_lora_weight"})


def _lora_module(item: Any) -> Reading:
    """`NAME=PATH`, or an object (vLLM's `LoRAParserAction`)."""
    word = to_json(_plain(item)) if isinstance(item, dict) else spelled(item)
    if word in {"", "None"}:
        return Reading((word,), None)
    if "=" in word and "," not in word:
        name, _, path = word.partition("=")
        return Reading((word,), {"name": name, "path": path})
    try:
        module = json.loads(word)
    except ValueError:
        raise wrong("NAME=PATH without a comma, or a table with name and path", word) from None
    if not isinstance(module, dict) or not {"name", "path"} <= set(module) <= _LORA_KEYS:
        raise wrong("a table with name and path, and at most base_model_name and is_3d_lora_weight", item)
    return Reading((word,), module)
