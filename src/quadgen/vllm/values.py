"""One value of the spec becomes the words of one option, as vLLM's parser reads them.

Each reader gives the words that follow the option and the value that vLLM then sees. What it refuses, the
parser refuses, or vLLM refuses or misreads later.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from quadgen.vllm.catalog import version
from quadgen.vllm.json_values import read_json, read_json_or_text, read_lora
from quadgen.vllm.reading import Reading, is_unset, spelled, wrong
from quadgen.vllm.sizes import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.option import Option


def read_value(option: Option, value: Any, catalog: Catalog) -> Reading:
    """The words of an option's value, and what vLLM sees.

    Args:
        option: Its row in the catalog.
        value: What the spec holds.
        catalog: The release's catalog, for the classes of JSON options.

    Raises:
        UnfitValueError: vLLM would refuse it.
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


def _switch(_option: Option, value: Any, _catalog: Catalog) -> Reading:
    if isinstance(value, (dict, list)):
        raise wrong("true or false", value, code="value-shape")
    if not isinstance(value, bool):
        remedy = (
            "write it without quotes"
            if str(value).lower() in {"true", "false"}
            else "vLLM takes no value here"
        )
        raise wrong("true or false", value, remedy)
    return Reading((), value)


def _int(option: Option, value: Any, catalog: Catalog) -> Reading:
    word = spelled(value)
    return Reading((word,), _number(option, word, value, catalog))


def _number(option: Option, word: str, value: Any, catalog: Catalog) -> int | None:
    if is_unset(option, word):
        return None
    try:
        number = int(word)
    except ValueError:
        whole = isinstance(value, float) and value.is_integer()
        raise wrong("an integer", value, f"write {value:.0f}" if whole else "") from None
    _among(option, number, catalog)
    return number


def _float(option: Option, value: Any, _catalog: Catalog) -> Reading:
    word = spelled(value)
    if is_unset(option, word):
        return Reading((word,), None)
    try:
        return Reading((word,), float(word))
    except ValueError:
        raise wrong("a number", value) from None


def _text(option: Option, value: Any, catalog: Catalog) -> Reading:
    if value is True and option.arity == "?":
        return Reading((), value)
    if isinstance(value, (dict, list)):
        raise wrong("text", value, code="value-shape")
    word = spelled(value)
    if "\0" in word:
        raise wrong("text without NUL", value, code="value-nul")
    return Reading((word,), _seen_text(option, word, catalog))


def _seen_text(option: Option, word: str, catalog: Catalog) -> Any:
    if is_unset(option, word):
        return None
    if option.name == "device-ids":
        return [int(part) if part.isdigit() else part for part in map(str.strip, word.split(","))]
    if option.name == "reasoning-parser" and word.lower() == "none" and version(catalog.release) >= (0, 33):
        return ""
    return word


def _choice(option: Option, value: Any, catalog: Catalog) -> Reading:
    word = spelled(value)
    # Up to 0.30 the parser lists the word None as a choice, and then refuses what it makes of it.
    if is_unset(option, word) and "None" not in option.choices:
        return Reading((word,), None)
    return Reading((word,), _among(option, _folded(option, word), catalog))


def _folded(option: Option, word: str) -> str:
    return word.lower().replace("-", "_") if option.folds else word


def _among(option: Option, value: Any, catalog: Catalog) -> Any:
    choices = [choice for choice in option.choices if choice != "None"]
    if choices and value not in choices:
        from quadgen.vllm.nearest import nearest_value, other_releases  # noqa: PLC0415 - only a mistake
        from quadgen.vllm.shapes import listed  # noqa: PLC0415

        expected = listed(choices, option.name) + other_releases(option.name, str(value), catalog.release)
        remedy = nearest_value(option.name, str(value), tuple(map(str, choices)))
        raise wrong(expected, value, remedy, code="value-choice")
    return value


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
        raise wrong(f"an integer or a size such as 32k or 48G{also}", value, _size_remedy(word)) from None


def _size_remedy(word: str) -> str:
    bare = word.strip()
    if re.fullmatch(r"\d+\.\d+[KMGT]", bare):
        return f"write {bare.lower()} for thousands, or a whole number before {bare[-1]}"
    if re.fullmatch(r"\d+(\.\d+)?\s*[kmgtKMGT]i?[bB]", bare):
        return f"write {re.match(r'[0-9.]+', bare)[0]}{re.sub('[^kmgtKMGT]', '', bare)[0]}"  # type: ignore[index]
    return ""


def _list(option: Option, value: Any, catalog: Catalog) -> Reading:
    if isinstance(value, dict):
        raise wrong("a list", value, code="value-shape")
    items = value if isinstance(value, list) else [value]
    if not items:
        raise wrong("a list with something in it", value, "leave the option out")
    read = _ITEM_READERS[option.kind]
    readings = [read(option, item, catalog) for item in items]
    return Reading(tuple(r.words[0] for r in readings), [r.value for r in readings])


_READERS: Final[dict[str, Callable[[Option, Any, Catalog], Reading]]] = {
    "flag": _switch,
    "boolean": _switch,
    "int": _int,
    "float": _float,
    "text": _text,
    "choice": _choice,
    "size": _size,
    "size-or-auto": _size,
    "json": read_json,
    "json-or-text": read_json_or_text,
    "lora": read_lora,
    "level": _text,
    "text-list": _list,
    "int-list": _list,
    "choice-list": _list,
}
_ITEM_READERS: Final = {"text-list": _text, "int-list": _int, "choice-list": _choice}
