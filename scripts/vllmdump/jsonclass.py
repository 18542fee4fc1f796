"""The configuration classes behind JSON options as rows."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from vllmdump.plain import bounds, plain, present

NAMES = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "text",
    type(None): "none",
    dict: "dict[text, any]",
    list: "list[any]",
}
# vLLM fills these in itself; a user who gives them is wrong.
INTERNAL = ("target_model_config", "target_parallel_config", "draft_model_config", "draft_parallel_config")
PROBE = "quadgen_probe"


def rows(classes: list[type], *, checked: bool) -> dict[str, dict[str, Any]]:
    """Each class, and those that its keys name, by the name of the class.

    Args:
        classes: Dataclasses.
        checked: Whether the parser makes their objects, and so refuses what they do not take.
    """
    found: dict[str, dict[str, Any]] = {}
    waiting = list(classes)
    while waiting:
        cls = waiting.pop(0)
        if cls.__name__ in found:
            continue
        keys, nested = _keys(cls)
        found[cls.__name__] = present({"checked": checked, "open": _is_open(cls), "keys": keys})
        waiting += nested
    return found


def _keys(cls: type) -> tuple[dict[str, dict[str, Any]], list[type]]:
    hints = typing.get_type_hints(cls, include_extras=True)
    keys = {}
    nested: list[type] = []
    for field in dataclasses.fields(cls):
        if not field.init or field.name.startswith("_") or field.name in INTERNAL:
            continue
        hint = hints[field.name]
        shape = Shape(cls, field.name)
        row: dict[str, Any] = {"type": shape.text(hint), "choices": shape.choices, "any_case": shape.any_case}
        if shape.choices and not shape.any_case:
            row["folds"] = _folds(cls, field.name, shape.choices)
        row.update(bounds(field.default, *getattr(hint, "__metadata__", ())))
        keys[field.name] = present({**row, **_default(field)})
        nested += shape.classes
    return keys, nested


class Shape:
    """A type as text, and what is met on the way.

    Args:
        cls: The class that has the key.
        key: Its name.
    """

    def __init__(self, cls: type, key: str) -> None:
        self.cls = cls
        self.key = key
        self.choices: list[Any] = []
        self.classes: list[type] = []
        self.any_case = False

    def text(self, hint: Any) -> str:
        """The type in the words of `NAMES`, with `choice` for an enumeration."""
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self.text(args[0])
        if origin is typing.Literal:
            return self._choice([plain(value) for value in args])
        if origin in (typing.Union, types.UnionType):
            return " | ".join(dict.fromkeys(self.text(arg) for arg in args))
        if origin in (list, tuple, dict, set):
            name = "list" if origin is set else origin.__name__
            return f"{name}[{', '.join(self.text(arg) for arg in args if arg is not Ellipsis)}]"
        if isinstance(hint, type):
            return self._named(hint)
        return "any"

    def _named(self, hint: type) -> str:
        if hint in NAMES:
            return NAMES[hint]
        if issubclass(hint, enum.Enum):
            members, self.any_case = _members(self.cls, self.key, hint)
            return self._choice(members)
        if dataclasses.is_dataclass(hint):
            self.classes.append(hint)
            return hint.__name__
        return "text" if hint.__name__ == "Path" else "any"

    def _choice(self, values: list[Any]) -> str:
        self.choices += [value for value in values if value not in self.choices]
        return "choice"


def _members(cls: type, key: str, enumeration: type[enum.Enum]) -> tuple[list[Any], bool]:
    """The spellings of an enumeration's members that the class takes, and whether names go in any case.

    Pydantic takes values, but most of vLLM's classes turn names into members first, and some take a word for
    none in particular; so each is tried.
    """
    names = [member.name for member in enumeration]
    values = [member.value for member in enumeration if isinstance(member.value, (str, int))]
    if _takes(cls, key, PROBE):
        return names, False
    accepted = [word for word in dict.fromkeys([*names, *values, "auto"]) if _takes(cls, key, word)]
    any_case = all(_takes(cls, key, word) for name in names for word in (name, name.lower(), name.title()))
    if any_case:
        known = {name.lower() for name in names}
        accepted = names + [word for word in accepted if str(word).lower() not in known]
    return accepted or names, any_case


def _folds(cls: type, key: str, choices: list[Any]) -> bool:
    """Whether text for the key is made lower case and its `-` read as `_` before it is looked at."""
    words = [choice for choice in choices if isinstance(choice, str)]
    odd = [word.title().replace("_", "-") for word in words]
    return bool(words) and not _takes(cls, key, PROBE) and all(_takes(cls, key, word) for word in odd)


def late_choices(owner: type, field: dataclasses.Field[Any], known: list[Any]) -> dict[str, Any]:
    """The values of a free-text option that its configuration class takes; nothing where it takes any."""
    if _takes(owner, field.name, PROBE):
        return {}
    shape = Shape(owner, field.name)
    shape.text(typing.get_type_hints(owner, include_extras=True)[field.name])
    values = [value for value in shape.choices or known if _takes(owner, field.name, value)]
    return {"late_choices": values, "any_case": shape.any_case}


@cache
def _adapter(cls: type) -> TypeAdapter[Any]:
    return TypeAdapter(cls)


def _takes(cls: type, key: str, word: Any) -> bool:
    """Whether an object with this value for the key is not refused for that key."""
    refusal = _refusal(cls, {key: word})
    if isinstance(refusal, ValidationError):
        return not any(detail["loc"] and detail["loc"][0] == key for detail in refusal.errors())
    # Some validators fail by accident. That is about this value if an object without it can be made.
    return refusal is None or type(refusal) is type(_refusal(cls, {}))


def _is_open(cls: type) -> bool:
    """Whether a key that the class does not have is let through."""
    refusal = _refusal(cls, {PROBE: 1})
    refused = isinstance(refusal, ValidationError) and refusal.errors()
    return not any(detail["loc"] == (PROBE,) for detail in refused or ())


def _refusal(cls: type, keys: dict[str, Any]) -> Exception | None:
    try:
        _adapter(cls).validate_python(keys)
    except Exception as error:  # noqa: BLE001 - whatever it is, the object was not made
        return error
    return None


def _default(field: dataclasses.Field[Any]) -> dict[str, Any]:
    default = field.default
    if type(default).__name__ == "FieldInfo":
        if default.default_factory is not None:
            return {}
        default = default.default
        if type(default).__name__ == "PydanticUndefinedType":
            return {"required": True}
    elif default is dataclasses.MISSING:
        return {"required": field.default_factory is dataclasses.MISSING}
    return {"default": plain(default)}
