"""Values with a meaning of their own: options, variables, commands, and text of a unit file."""

from __future__ import annotations

from typing import Any

from quadgen.spec import schema
from quadgen.spec.names import TEXT
from quadgen.spec.refusal import refuse, shown


def _option(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _option(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_option(inner) for inner in value]
    if isinstance(value, (str, bool, int, float)):
        return value
    refuse("bad-option-value", f"{value} is a date, which no option takes", "write it as text, in quotes")


def _variable(value: Any) -> str:
    if isinstance(value, bool):
        refuse(
            "bad-variable-value",
            f"{shown(value)} can mean several texts",
            'write the text that the program reads, in quotes: "1", "true", …',
        )
    if isinstance(value, (str, int, float)):
        return str(value)
    refuse("bad-variable-value", f"{shown(value)} is no text", "write the value in quotes")


def _unit_value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_unit_value(item) for item in value)
    if isinstance(value, (str, bool, int)):
        return value
    refuse(
        "bad-unit-value",
        f"{shown(value)} is no value of a unit file",
        "write text, a number, true, false or a list of them",
    )


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        refuse(
            "bad-command",
            f"{shown(value)} is no list of words",
            'write it like ["/usr/bin/mkdir", "-p", "/srv/x"]',
        )
    return tuple(value)


def _program(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words[0].startswith("/"):
        refuse("relative-path", f"{shown(words[0])} is no absolute path", "write the program's path from /")
    return words


def _capability(name: str) -> str:
    plain = name.upper().removeprefix("CAP_")
    if not plain.replace("_", "").isalpha():
        refuse("bad-capability", f"{shown(name)} is no capability", "write its name, such as SYS_NICE")
    return plain


def _slice(name: str) -> str:
    if not name.endswith(".slice"):
        refuse("bad-slice", f"{shown(name)} is no slice", "write its full name, such as models.slice")
    return name


def _number_as_text(value: Any) -> Any:
    return str(value) if type(value) is int else value


OPTION = schema.anything(_option, "string", "boolean", "integer", "number", "array", "object")
VARIABLE = schema.anything(_variable, "string", "integer", "number")
UNIT_VALUE = schema.anything(_unit_value, "string", "boolean", "integer", "array")
SECTION = schema.mapping(TEXT, UNIT_VALUE)
COMMAND = schema.anything(_words, "array")
PROGRAM = schema.checked(COMMAND, _program)
CAPABILITY = schema.text(_capability)
SLICE = schema.text(_slice)
TEXT_OR_NUMBER = schema.prepared(_number_as_text, TEXT, "integer")
