"""The options of a real `vllm serve` parser as rows."""

# ruff: noqa: SLF001 - argparse has no public way to ask a parser for its options

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import re
from typing import TYPE_CHECKING, Any

from vllmdump.jsonclass import late_choices
from vllmdump.plain import bounds, plain, present

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ARITY = {0: "0", None: "1", "?": "?", "+": "+", "*": "+"}
SECRETS = ("api_key", "hf_token")
# Kinds that samples cannot tell: an action that takes words apart by itself, text that is converted later.
NAMED_KINDS = {"lora_modules": "lora", "optimization_level": "level"}
# A value is of the first kind whose sample the parser turns into this result.
SAMPLES: tuple[tuple[str, str, Any], ...] = (
    ("json", "{}", {}),
    ("size-or-auto", "auto", -1),
    ("size", "1k", 1000),
    ("int", "7", 7),
    ("float", "7", 7.0),
)


def rows(parser: argparse.ArgumentParser, config: Any, rendered: set[str]) -> dict[str, dict[str, Any]]:
    """Each option's row by its name, in the parser's order.

    Args:
        parser: vLLM's own.
        config: The module `vllm.config`.
        rendered: The destinations that `vllm launch render` uses.
    """
    groups = {id(action): group.title for group in parser._action_groups for action in group._group_actions}
    found = {}
    for action in parser._actions:
        if not action.option_strings or isinstance(action, argparse._HelpAction):
            continue
        row = _row(parser, action)
        row["group"] = groups[id(action)]
        row["renders"] = action.dest in rendered
        row.update(_from_config(config, row))
        found[row["flags"][0].lstrip("-")] = present(row)
    return found


def classes(parser: argparse.ArgumentParser) -> list[type]:
    """The classes whose objects the parser makes from JSON."""
    return [cls for action in parser._actions if (cls := _dataclass_in(action.type))]


def late_classes(found: dict[str, dict[str, Any]], config: Any) -> list[type]:
    """The classes whose objects the engine makes from JSON that the parser leaves alone; rows name them."""
    late = []
    for row in found.values():
        name = "".join(word.capitalize() for word in row["dest"].split("_"))
        if row["kind"] == "json" and "json_class" not in row and hasattr(config, name):
            row["json_class"] = name
            late.append(getattr(config, name))
    return late


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> dict[str, Any]:
    taken = [flag for flag, owner in parser._option_string_actions.items() if owner is action]
    negative = _negative(action, taken)
    values = [plain(choice) for choice in action.choices or () if choice is not None]
    convert = action.type if callable(action.type) else str
    return {
        "dest": action.dest,
        "flags": [flag for flag in taken if flag not in negative],
        "negative": negative,
        "hidden": [flag for flag in taken if flag not in action.option_strings],
        "kind": _kind(action, convert, values),
        "arity": ARITY[action.nargs],
        "repeats": isinstance(action, argparse._AppendAction),
        "folds": bool(values) and action.nargs is None and _try(convert, "Probe-Word") == "probe_word",
        "choices": values,
        "suggestions": [] if values else _suggestions(action.metavar),
        "default": plain(action.default),
        "accepts_none": action.nargs != 0 and (_try(convert, "None"), _try(convert, "")) == (None, None),
        "json_class": getattr(_dataclass_in(action.type), "__name__", None),
        "secret": action.dest in SECRETS,
        "deprecated": _deprecated(parser, action),
    }


def _negative(action: argparse.Action, taken: list[str]) -> list[str]:
    """The spellings that set False; the one that most releases take first."""
    if not isinstance(action, argparse.BooleanOptionalAction):
        return []
    negative = []
    for flag in taken:
        target = argparse.Namespace()
        action(argparse.ArgumentParser(), target, [], flag)
        if getattr(target, action.dest) is False:
            negative.append(flag)
    return sorted(negative, key=lambda flag: not flag.startswith("--no-"))


def _kind(action: argparse.Action, convert: Callable[[str], Any], values: list[Any]) -> str:
    """What a value is, told by what the parser makes of samples rather than by how it is written."""
    if action.nargs == 0:
        return "boolean" if isinstance(action, argparse.BooleanOptionalAction) else "flag"
    if action.dest in NAMED_KINDS:
        return NAMED_KINDS[action.dest]
    many = "-list" if action.nargs in ("+", "*") else ""
    for kind, sample, result in SAMPLES:
        made = _try(convert, sample)
        if type(made) is type(result) and made == result:
            lenient = kind == "json" and _try(convert, "words") == "words"
            return "json-or-text" if lenient else kind + many
    if _dataclass_in(action.type):
        return "json"
    return ("choice" if values else "text") + many


def _try(convert: Callable[[str], Any], text: str) -> Any:
    """What the parser makes of a word; the exception where it refuses."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            return convert(text)
        except Exception as error:  # noqa: BLE001 - a refusal of any kind is an answer
            return error


def _dataclass_in(convert: Any, depth: int = 4) -> type | None:
    """The class whose objects a converter makes, kept in its closure or its defaults."""
    if isinstance(convert, type):
        return convert if dataclasses.is_dataclass(convert) else None
    if depth == 0 or not callable(convert):
        return None
    cells = [cell.cell_contents for cell in getattr(convert, "__closure__", None) or ()]
    parts = [*(getattr(convert, "__defaults__", None) or ()), *cells]
    return next((found for part in parts if (found := _dataclass_in(part, depth - 1))), None)


def _suggestions(metavar: Any) -> list[Any]:
    """Known values of free text; vLLM puts them where the help shows a name for the value."""
    if isinstance(metavar, (list, tuple)):
        return [plain(value) for value in metavar if value is not None]
    if isinstance(metavar, str) and metavar.startswith("{"):
        return metavar[1:].partition("}")[0].split(",")
    return []


def _deprecated(parser: argparse.ArgumentParser, action: argparse.Action) -> bool:
    marked = action in getattr(parser, "_deprecated", ()) or getattr(action, "deprecated", False)
    named = "deprecated" in type(action).__name__.lower()
    first_sentence = re.split(r"[.!?](?:\s|$)", action.help or "")[0].lower()
    return bool(marked or named or "deprecated" in first_sentence)


def _from_config(config: Any, row: dict[str, Any]) -> dict[str, Any]:
    """What only the configuration class knows: limits, and values that are refused at start."""
    owner = getattr(config, row["group"] or "", config.VllmConfig)
    found = next(_fields_named(owner, row["dest"]), None)
    if found is None:
        return {}
    cls, field = found
    told = bounds(field.default, *getattr(field.type, "__metadata__", ()))
    if row["kind"] == "text":
        told.update(late_choices(cls, field, row["suggestions"]))
    return told


def _fields_named(owner: type, dest: str) -> Iterator[tuple[type, dataclasses.Field[Any]]]:
    """Fields that an option fills: of its name, or of that without the class's or "kv"; also a class down."""
    prefix = owner.__name__.removesuffix("Config").lower()
    names = (dest, dest.removeprefix(f"{prefix}_"), dest.removeprefix("kv_"))
    fields = {field.name: field for field in dataclasses.fields(owner)}
    yield from ((owner, fields[name]) for name in names if name in fields)
    if owner.__name__ != "VllmConfig":
        nested = (field.type for field in fields.values() if dataclasses.is_dataclass(field.type))
        for cls in nested:
            yield from _fields_named(cls, dest)
