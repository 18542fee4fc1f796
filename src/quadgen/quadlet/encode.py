r"""Writing values so that their reader gets them byte for byte.

A value of a Quadlet key passes two decoders: the generator's, which depends on the key's class, and
systemd's parsing of the generated `ExecStart=`, which also expands `%` and `$`. There are two encoders, for
lists of words and for single values; the other functions are these with the few differences that a class has.

Checked by sending random values through the packaged generators and systemd (tests/host/test_encoders.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeAlias

from quadgen.errors import EncodeError

# From what the reader shall get to the text of the unit file.
Encoder: TypeAlias = Callable[..., str]

# The kernel's MAX_ARG_STRLEN, 32 pages, counts the closing NUL.
MAX_WORD_BYTES = 131_071
# systemd's LONG_LINE_MAX: a unit with a longer line is refused whole.
MAX_LINE_BYTES = 1024 * 1024 - 1
_MAX_SHOWN = 80

# What no word list can carry, written as variables that `[Service] Environment=` sets: the generator ends a
# list at its first empty word, and writes a lone `;` bare, where systemd reads it as the end of the command.
VARIABLES = {"QUADGEN_EMPTY": "", "QUADGEN_SEMICOLON": ";"}
_AS_VARIABLE = {value: f"${{{name}}}" for name, value in VARIABLES.items()}

_PLAIN_WORD = re.compile(r"[A-Za-z0-9_@+=:,./-]+")
# Beside NUL: surrogates stand for bytes that are not UTF-8, systemd's UTF-8 check refuses noncharacters, and
# the generator writes U+0080 as `\x80`, which systemd reads as one byte.
_NONCHARACTERS = "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
_UNSENDABLE = f"[\0\x80\ud800-\udfff\ufdd0-\ufdef{_NONCHARACTERS}]"
# In a line of its own these end the line for the generator or for systemd.
_LINE_ENDS = "[\n\r]"


def encode_word(word: str, doubled: str = "%$") -> str:
    """One word of a word list (`Exec`, `PodmanArgs`, `Environment`, `Label`, `Mount`, …).

    Args:
        word: What the reader shall get.
        doubled: The characters that the reader expands and that must stay themselves.

    Raises:
        EncodeError: The word cannot arrive intact.
    """
    if _PLAIN_WORD.fullmatch(word):
        _check_length(word)
        return word
    check_characters(word)
    _check_length(word)
    return _AS_VARIABLE.get(word) or '"' + word.translate(_escapes(doubled)) + '"'


def encode_words(words: Iterable[str], doubled: str = "%$") -> str:
    """A word list on one line; see `encode_word`."""
    return " ".join([encode_word(word, doubled) for word in words])


def encode_value(value: str, doubled: str = "%$") -> str:
    """The value of a key that is one text (`HealthCmd`, `Entrypoint`, `ContainerName`, …).

    Args:
        value: What the reader shall get.
        doubled: As for `encode_word`.

    Raises:
        EncodeError: The value cannot arrive intact.
    """
    if value[:1] == '"' or value[-1:] == '"':
        # Kept before 5.0, all removed in 5.0.0-5.8.1, one pair removed from 5.8.2 on.
        raise EncodeError(
            f'{shown(value)} begins or ends with `"`, which some Podman releases remove',
            "use single quotes, or let other text stand at the end",
        )
    return encode_item(value, doubled)


def encode_item(value: str, doubled: str = "%$") -> str:
    """One line of a key whose lines are values with their quotes kept (`Volume`, `PublishPort`, …).

    Raises:
        EncodeError: The value cannot arrive intact.
    """
    check_line(value)
    _check_length(value)
    if value.endswith("\\"):
        raise EncodeError(
            f"{shown(value)} ends with a backslash, which joins the next line to it",
            "put other text at the end",
        )
    return _AS_VARIABLE.get(value) or _double(value, doubled)


def encode_strv_word(word: str, doubled: str = "%$") -> str:
    """One word of a list where quotes group and backslashes are data (`AddDevice`, `Sysctl`, `LogOpt`, …).

    Raises:
        EncodeError: The word cannot arrive intact.
    """
    if _PLAIN_WORD.fullmatch(word):
        _check_length(word)
        return word
    check_characters(word)
    _check_length(word)
    if re.search(_LINE_ENDS, word):
        raise EncodeError(
            f"{shown(word)} has a line break, which this key cannot carry", "leave the line break out"
        )
    if variable := _AS_VARIABLE.get(word):
        return variable
    # A quote is closed before one of its own kind, which then stands inside quotes of the other kind.
    return "".join(
        f"'{part}'" if part[0] == '"' else f'"{part}"'
        for part in re.findall(r'"+|[^"]+', _double(word, doubled))
    )


def encode_command(words: Iterable[str]) -> str:
    """A command line that systemd alone reads (`ExecStartPre`, `ExecStartPost`, …).

    Raises:
        EncodeError: The words cannot arrive intact, or the program is no absolute path.
    """
    program, *arguments = words
    if not program.startswith("/"):
        raise EncodeError(f"{shown(program)} is no absolute path", "name the program by its full path")
    # systemd expands no variables in the path of the program.
    encoded = [encode_word(program, "%")]
    encoded += [f'"{word}"' if word in _AS_VARIABLE else encode_word(word) for word in arguments]
    return " ".join(encoded)


def encode_setting_word(word: str) -> str:
    """One word of a list that systemd alone reads and where it expands only `%` (`[Service] Environment`).

    Raises:
        EncodeError: The word cannot arrive intact.
    """
    return f'"{word}"' if word in _AS_VARIABLE else encode_word(word, "%")


def check_characters(text: str) -> None:
    """Refuse characters that do not survive the generator and systemd.

    Raises:
        EncodeError: The text has one.
    """
    if text.isascii():
        if "\0" in text:
            raise EncodeError(
                f"{shown(text)} has a NUL character, which no argument can hold", "leave it out"
            )
        return
    if not (found := re.search(_UNSENDABLE, text)):
        return
    character = found[0]
    if "\ud800" <= character <= "\udfff":
        raise EncodeError(f"{shown(text)} is not UTF-8, which systemd requires", "write it as UTF-8")
    raise EncodeError(
        f"{shown(text)} has the character U+{ord(character):04X}, which does not survive systemd",
        "leave it out",
    )


def check_line(text: str) -> None:
    """Refuse text that cannot be the value of one line as it stands.

    Raises:
        EncodeError: A line break, blanks at an end, or a character that `check_characters` refuses.
    """
    check_characters(text)
    if re.search(_LINE_ENDS, text):
        raise EncodeError(
            f"{shown(text)} has a line break, which this key cannot carry", "write it on one line"
        )
    if text != text.strip():
        raise EncodeError(f"{shown(text)} begins or ends with blanks, which are cut off", "leave them out")


def shown(text: str) -> str:
    """The text as messages show it: quoted, on one line, and not too long."""
    quoted = ascii(text) if not text.isprintable() else repr(text)
    return quoted if len(quoted) <= _MAX_SHOWN else f"{quoted[:60]}… ({len(text)} characters)"


def _check_length(word: str) -> None:
    if len(word) * 4 > MAX_WORD_BYTES and (size := len(word.encode())) > MAX_WORD_BYTES:
        raise EncodeError(
            f"{shown(word)} is {size} bytes long; the kernel takes at most {MAX_WORD_BYTES} in one argument",
            "shorten it, or put it into a file",
        )


def _double(text: str, doubled: str) -> str:
    for character in doubled:
        text = text.replace(character, character * 2)
    return text


@cache
def _escapes(doubled: str) -> dict[int, str]:
    # Octal is broken before Podman 5.4, and beyond ASCII `\x` means other things to either decoder.
    table = {code: f"\\x{code:02x}" for code in (*range(1, 0x20), 0x7F)}
    table.update({ord("\n"): r"\n", ord("\t"): r"\t", ord("\r"): r"\r", ord("\\"): r"\\", ord('"'): r"\""})
    table.update({ord(character): character * 2 for character in doubled})
    return table
