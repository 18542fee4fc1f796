"""One value of the spec becomes the words of one option, as vLLM's parser reads them.

Each reader gives the words that follow the option and the value that vLLM then sees. What it refuses, the
parser refuses (or, where the code is not among `PARSER_CODES`, vLLM refuses or misreads later).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from quadgen.vllm.json_options import JsonProblem, ObjectReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.option import Option


class ValueProblem(Exception):
    """A value does not fit its option.

    Args:
        problems: Each thing that is wrong with it.
    """

    def __init__(self, *problems: JsonProblem) -> None:
        super().__init__(problems[0].message)
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Reading:
    """What becomes of a value.

    Args:
        words: The words that follow the option; none for a boolean.
        value: What vLLM sees.
    """

    words: tuple[str, ...]
    value: Any


def read_value(option: Option, value: Any, catalog: Catalog) -> Reading:
    """The words of an option's value, and what vLLM sees.

    Args:
        option: Its row in the catalog.
        value: What the spec holds.
        catalog: The release's catalog, for the classes of JSON options.

    Raises:
        ValueProblem: vLLM would refuse it.
    """
    if option.repeats:
        items = value if isinstance(value, list) else [value]
        readings = [_READERS[option.kind](option, item, catalog) for item in items]
        return Reading(tuple(r.words[0] for r in readings), [r.value for r in readings])
    if option.name in _COMMA_SEPARATED and isinstance(value, list):
        value = ",".join(spelled(item) for item in value)
    if isinstance(value, list) and len(value) == 1 and not (option.is_list or option.takes_json):
        value = value[0]
    return _READERS[option.kind](option, value, catalog)


# One word with commas inside, where TOML's own list is the natural way to write it.
_COMMA_SEPARATED: Final = frozenset({"device-ids", "disable-access-log-for-endpoints"})


def spelled(value: Any) -> str:
    """A single value as the spec spells it: a float keeps its digits, text stays as it is.

    Raises:
        ValueProblem: It is no text and no number.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong("a single value", value)
    return str(getattr(value, "text", value))


def _wrong(expected: str, value: Any, remedy: str = "", code: str = "value-type") -> ValueProblem:
    return ValueProblem(JsonProblem(code, (), f"{shown(value)} must be {expected}", remedy))


def shown(value: Any) -> str:
    """A value in a message, cut to a length that fits a line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = f'"{value}"' if isinstance(value, str) else str(getattr(value, "text", value))
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 1] + "…"


_SHOWN_LENGTH: Final = 60


def is_unset(option: Option, word: str) -> bool:
    """Whether vLLM reads the word as "not given" (its `optional_type`)."""
    return option.accepts_none and word in {"", "None"}


def _switch(_option: Option, value: Any, _catalog: Catalog) -> Reading:
    if not isinstance(value, bool):
        remedy = (
            "write it without quotes"
            if str(value).lower() in {"true", "false"}
            else "vLLM takes no value here"
        )
        raise _wrong("true or false", value, remedy)
    return Reading((), value)


def _int(option: Option, value: Any, _catalog: Catalog) -> Reading:
    word = spelled(value)
    return Reading((word,), _number(option, word, value))


def _number(option: Option, word: str, value: Any) -> int | None:
    if is_unset(option, word):
        return None
    try:
        number = int(word)
    except ValueError:
        whole = isinstance(value, float) and value.is_integer()
        raise _wrong("an integer", value, f"write {value:.0f}" if whole else "") from None
    return _among(option, number)


def _float(option: Option, value: Any, _catalog: Catalog) -> Reading:
    word = spelled(value)
    if is_unset(option, word):
        return Reading((word,), None)
    try:
        return Reading((word,), float(word))
    except ValueError:
        raise _wrong("a number", value) from None


def _text(option: Option, value: Any, _catalog: Catalog) -> Reading:
    if value is True and option.arity == "?":
        return Reading((), True)
    if isinstance(value, (dict, list)):
        raise _wrong("text", value, code="value-shape")
    word = spelled(value)
    if "\0" in word:
        raise _wrong("text without NUL", value, code="value-nul")
    return Reading((word,), _seen_text(option, word))


def _seen_text(option: Option, word: str) -> Any:
    if is_unset(option, word):
        return None
    if option.name == "device-ids":
        return [int(part) if part.isdigit() else part for part in map(str.strip, word.split(","))]
    if (
        option.name == "reasoning-parser"
        and word.lower() == "none"
        and "0.33" in (option.since, *option.changed)
    ):
        return ""
    return word


def _choice(option: Option, value: Any, _catalog: Catalog) -> Reading:
    word = spelled(value)
    return Reading((word,), None if is_unset(option, word) else _among(option, _folded(option, word)))


def _folded(option: Option, word: str) -> str:
    return word.lower().replace("-", "_") if option.folds else word


def _among(option: Option, value: Any) -> Any:
    if option.choices and value not in option.choices:
        raise _wrong(
            "one of " + ", ".join(map(str, option.choices)),
            value,
            _nearest(option, value),
            code="value-choice",
        )
    return value


def _nearest(option: Option, value: Any) -> str:
    from quadgen.vllm.nearest import nearest_value  # noqa: PLC0415 - only a wrong spec pays for it

    return nearest_value(option.name, str(value), tuple(map(str, option.choices)))


_MULTIPLES: Final = {
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
    "T": 2**40,
}


def parse_size(word: str) -> int:
    """A number of vLLM's: `1k` is 1000, `1K` is 1024, `25.6k` is 25600 (its `human_readable_int`).

    Raises:
        ValueError: It is none.
    """
    word = word.strip()
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", word)
    if not found:
        return int(word)
    number, suffix = found.groups()
    if suffix.isupper():
        return int(number) * _MULTIPLES[suffix]
    return int(float(number) * _MULTIPLES[suffix])


def _size(option: Option, value: Any, _catalog: Catalog) -> Reading:
    word = spelled(value)
    if is_unset(option, word):
        return Reading((word,), None)
    if option.kind == "size-or-auto" and word.strip().lower() in {"auto", "-1"}:
        return Reading((word,), -1)
    try:
        return Reading((word,), parse_size(word))
    except ValueError:
        also = ", or auto" if option.kind == "size-or-auto" else ""
        raise _wrong(f"an integer or a size such as 32k or 48G{also}", value, _size_remedy(word)) from None


def _size_remedy(word: str) -> str:
    bare = word.strip()
    if re.fullmatch(r"\d+\.\d+[KMGT]", bare):
        return f"write {bare.lower()} for thousands, or a whole number before {bare[-1]}"
    if re.fullmatch(r"\d+(\.\d+)?\s*[kmgtKMGT]i?[bB]", bare):
        return f"write {re.match(r'[0-9.]+', bare)[0]}{re.sub('[^kmgtKMGT]', '', bare)[0]}"  # type: ignore[index]
    return ""


def _json(option: Option, value: Any, catalog: Catalog) -> Reading:
    if isinstance(value, str):
        return _json_text(option, value, catalog)
    if isinstance(value, bool):
        raise _wrong(_json_shape(option), value)
    plain = _plain(value)
    return Reading((to_json(plain),), _object(option, plain, catalog))


def _json_text(option: Option, text: str, catalog: Catalog) -> Reading:
    if is_unset(option, text):
        return Reading((text,), None)
    checked = option.json_class is not None and catalog.json_class(option.json_class).checked
    try:
        value = json.loads(_expand_sizes(text) if checked else text)
    except ValueError:
        raise _wrong("JSON", text, _json_remedy(text), code="value-json") from None
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
            raise _wrong(_json_shape(option), value, code="json-shape")
        return value
    if value is None and option.json_class is None:
        return None
    if not isinstance(value, dict):
        checked = option.json_class is not None and catalog.json_class(option.json_class).checked
        raise _wrong(_json_shape(option), value, code="value-type" if checked else "json-shape")
    if option.json_class is None:
        return value
    reader = ObjectReader(catalog)
    read = reader.read(option.json_class, _normal_keys(option, value))
    if reader.problems:
        late = "" if catalog.json_class(option.json_class).checked else "-at-start"
        raise ValueProblem(*(replace(problem, code=problem.code + late) for problem in reader.problems))
    return read


def _normal_keys(option: Option, value: dict[str, Any]) -> dict[str, Any]:
    """In `speculative-config` alone vLLM reads `-` in a key as `_`."""
    if option.name != "speculative-config":
        return value
    return {key.replace("-", "_"): item for key, item in value.items()}


def _json_or_text(option: Option, value: Any, catalog: Catalog) -> Reading:
    if isinstance(value, (dict, list)):
        return _json(option, value, catalog)
    word = spelled(value)
    if not re.fullmatch(r"(?s)\s*{.*}\s*", word):
        return Reading((word,), word)
    try:
        return Reading((word,), json.loads(word))
    except ValueError:
        raise _wrong("JSON", word, _json_remedy(word), code="value-json") from None


def _plain(value: Any) -> Any:
    """A table or list without anything that JSON cannot hold.

    Raises:
        ValueProblem: It has a date or a time inside.
    """
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise _wrong("text, a number, true, false, a list or a table", value, "quote it")


def to_json(value: Any) -> str:
    """One JSON word: compact, in the order of the spec, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _list(option: Option, value: Any, catalog: Catalog) -> Reading:
    if isinstance(value, dict):
        raise _wrong("a list", value)
    items = value if isinstance(value, list) else [value]
    if not items:
        raise _wrong("a list with something in it", value, "leave the option out")
    read = _ITEM_READERS[option.kind]
    readings = [read(option, item, catalog) for item in items]
    return Reading(tuple(r.words[0] for r in readings), [r.value for r in readings])


def _lora(option: Option, value: Any, _catalog: Catalog) -> Reading:
    items = value if isinstance(value, list) else [value]
    if not items:
        raise _wrong("a list with something in it", value, "leave the option out")
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
        raise _wrong("NAME=PATH without a comma, or a table with name and path", word) from None
    if not isinstance(module, dict) or not {"name", "path"} <= set(module) <= _LORA_KEYS:
        raise _wrong("a table with name and path, and at most base_model_name and is_3d_lora_weight", item)
    return Reading((word,), module)


_READERS: Final[dict[str, Callable[[Option, Any, Catalog], Reading]]] = {
    "flag": _switch,
    "boolean": _switch,
    "int": _int,
    "float": _float,
    "text": _text,
    "choice": _choice,
    "size": _size,
    "size-or-auto": _size,
    "json": _json,
    "json-or-text": _json_or_text,
    "lora": _lora,
    "level": _text,
    "text-list": _list,
    "int-list": _list,
    "choice-list": _list,
}
_ITEM_READERS: Final = {"text-list": _text, "int-list": _int, "choice-list": _choice}
