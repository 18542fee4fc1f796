"""The user's own unit-file text, from the escape hatch: judged, and split where it must be written anew.

The generator is more lenient than this: it takes unbalanced quotes as they come and drops a value with a bad
escape without a word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quadgen.quadlet.encode import check_characters, shown
from quadgen.quadlet.refusal import Refusal

if TYPE_CHECKING:
    from quadgen.quadlet.keys import KeyClass
    from quadgen.quadlet.version import PodmanVersion

_BLANKS = " \t"
_CONTROLS = r"[\x00-\x08\x0a-\x1f\x7f]"
# Letters that are no specifier in systemd 252 to 262: with one of them systemd refuses the whole unit.
_SPECIFIER = r"%%|(%[FKOQXZekxz])"

# One word; then its parts: in double quotes, in single quotes, and bare.
_STRV_WORD = r"""(?:"[^"]*"|'[^']*'|[^ \t"'])++(?=[ \t]|$)"""
_STRV_PART = r""""([^"]*)"|'([^']*)'|([^ \t"']+)"""
_EXEC_WORD = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^ \t"'\\]|\\.)++(?=[ \t]|$)"""
_EXEC_PART = r""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|((?:[^ \t"'\\]|\\.)+)"""
_ESCAPE = r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)"
_ESCAPED = dict(zip("abfnrtvs\\\"'", "\a\b\f\n\r\t\v \\\"'", strict=True))
_LAST_CODES = {"u": 0xFFFF, "U": 0x10FFFF}


def check_text(text: str) -> str:
    """The text without outer blanks, when it can stand on one line of a unit file.

    Raises:
        Refusal: A control character, a backslash at the end, or an unknown specifier.
        EncodeError: A character that never arrives.
    """
    check_characters(text)
    if re.search(_CONTROLS, text):
        raise Refusal(
            "bad-unit-text",
            f"{shown(text)} has a line break or another control character",
            "write it on one line",
        )
    text = text.strip(_BLANKS)
    if text.endswith("\\"):
        raise Refusal(
            "bad-unit-text",
            f"{shown(text)} ends with a backslash, which joins the next line to it",
            "put other text at the end",
        )
    if bad := next((found[1] for found in re.finditer(_SPECIFIER, text) if found[1]), None):
        raise Refusal(
            "bad-unit-text",
            f"{bad} in {shown(text)} is no systemd specifier, and systemd refuses the unit for it",
            f"write %{bad} for the text {bad}",
        )
    return text


def split_text(text: str, kind: KeyClass, version: PodmanVersion) -> tuple[str, ...]:
    """The values that the generator gets out of a text, with specifiers and variables still in them.

    Raises:
        Refusal: The generator would drop or cut the value.
        EncodeError: A word has a character that never arrives.
    """
    if kind in ("string", "bool"):
        return (_unquote(text, version),)
    if kind == "list":
        return (text,)
    words = _split_strv(text) if kind == "strv" else split_words(text)
    for word in words:
        check_characters(word)
        if word in ("", ";"):
            raise Refusal(
                "bad-unit-text",
                f"an empty word ends the list in {shown(text)}"
                if not word
                else f"a lone `;` in {shown(text)} would end the command for systemd",
                "leave it out",
            )
    return words


def split_words(text: str) -> tuple[str, ...]:
    """The words of a text with quotes and C escapes, as the generator and systemd split an `Exec` line.

    Raises:
        Refusal: Unbalanced quotes or an unknown escape.
    """
    words = _split(text, _EXEC_WORD)
    return tuple(
        "".join(_unescape("".join(part.groups("")), text) for part in re.finditer(_EXEC_PART, word))
        for word in words
    )


def has_octal(text: str) -> bool:
    """Whether the text has an octal escape, which the generator gets wrong before Podman 5.4."""
    return any(found[1][0] in "01234567" for found in re.finditer(_ESCAPE, text))


def _split_strv(text: str) -> tuple[str, ...]:
    return tuple(
        "".join("".join(part.groups("")) for part in re.finditer(_STRV_PART, word))
        for word in _split(text, _STRV_WORD)
    )


def _split(text: str, pattern: str) -> list[str]:
    word = re.compile(pattern)
    words = []
    position = 0
    while position < len(text):
        if text[position] in _BLANKS:
            position += 1
        elif found := word.match(text, position):
            words.append(found[0])
            position = found.end()
        else:
            raise Refusal(
                "bad-unit-text", f"{shown(text)} has unbalanced quotes", "close the quote, or escape it"
            )
    return words


def _unescape(text: str, whole: str) -> str:
    def one(found: re.Match[str]) -> str:
        escape = found[1]
        if escape in _ESCAPED:
            return _ESCAPED[escape]
        hexadecimal = escape[0] in "xuU" and len(escape) > 1
        code = int(escape[1:], 16) if hexadecimal else int(escape, 8) if len(escape) > 1 else 0
        if not 0 < code <= _LAST_CODES.get(escape[0], 0xFF):
            raise Refusal(
                "bad-unit-text",
                f"\\{escape} in {shown(whole)} is no escape that Podman knows, and it drops the whole value",
                r"write \\ for a backslash",
            )
        return chr(code)

    return re.sub(_ESCAPE, one, text)


def _unquote(text: str, version: PodmanVersion) -> str:
    if not text.startswith('"') and not text.endswith('"'):
        return text
    inner = text[1:-1]
    paired = len(text) > 1 and text[0] == text[-1] == '"' and inner[:1] != '"' != inner[-1:]
    if not paired or version.major < 5:
        raise Refusal(
            "bad-unit-text",
            f'{shown(text)} begins or ends with `"`, which Podman releases take in different ways',
            "use single quotes, or let other text stand at the end",
        )
    return inner
