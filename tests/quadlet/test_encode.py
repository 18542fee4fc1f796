from __future__ import annotations

import pytest

from quadgen.errors import EncodeError
from quadgen.quadlet import encode

WORDS = {
    "plain": ("--max-num-seqs=32", "--max-num-seqs=32"),
    "path": ("/srv/models/a_b.c", "/srv/models/a_b.c"),
    "blank": ("a b", '"a b"'),
    "quote": ('say "x"', r'"say \"x\""'),
    "apostrophe": ("it's", '"it\'s"'),
    "backslash": ("a\\b", r'"a\\b"'),
    "trailing backslash": ("a\\", r'"a\\"'),
    "newline": ("a\nb\tc\rd", r'"a\nb\tc\rd"'),
    "control": ("\x01\x1b\x7f", r'"\x01\x1b\x7f"'),
    "specifier": ("100%n", '"100%%n"'),
    "variable": ("${HOME} $x", '"$${HOME} $$x"'),
    "json": ('{"n": [1]}', r'"{\"n\": [1]}"'),
    "comment": ("#x", '"#x"'),
    "semicolon inside": ("a;b", '"a;b"'),
    "unicode": ("日本 é 😀", '"日本 é 😀"'),
    "next line": ("a\x85b", '"a\x85b"'),
    "c1": ("a\x9fb", '"a\x9fb"'),
    "empty": ("", "${QUADGEN_EMPTY}"),
    "semicolon": (";", "${QUADGEN_SEMICOLON}"),
}


@pytest.mark.parametrize(("word", "expected"), WORDS.values(), ids=WORDS)
def test_words(word: str, expected: str) -> None:
    assert encode.encode_word(word) == expected


def test_a_word_list_is_one_line() -> None:
    assert encode.encode_words(["a", "b c", "", "d\ne"]) == r'a "b c" ${QUADGEN_EMPTY} "d\ne"'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("python3 -c 'x'", "python3 -c 'x'", id="quotes inside and single ones outside"),
        pytest.param('say "x" twice', 'say "x" twice', id="inner double quotes"),
        pytest.param(r"a\d b", r"a\d b", id="backslashes are data"),
        pytest.param("50% of $HOME", "50%% of $$HOME", id="expanded characters"),
        pytest.param(";", "${QUADGEN_SEMICOLON}", id="semicolon"),
        pytest.param('["a", "b"]', '["a", "b"]', id="JSON"),
    ],
)
def test_single_values(value: str, expected: str) -> None:
    assert encode.encode_value(value) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("net.core.x=1", "net.core.x=1", id="plain"),
        pytest.param("a b", '"a b"', id="blank"),
        pytest.param(r"a\n", r'"a\n"', id="backslashes are data"),
        pytest.param('a"b', '''"a"'"'"b"''', id="double quote"),
        pytest.param("it's", '"it\'s"', id="apostrophe"),
        pytest.param('""', "'\"\"'", id="double quotes alone"),
        pytest.param("", "${QUADGEN_EMPTY}", id="empty"),
    ],
)
def test_words_of_lists_without_escapes(word: str, expected: str) -> None:
    assert encode.encode_strv_word(word) == expected


def test_commands_for_systemd_alone_need_no_variables() -> None:
    words = ["/bin/$x y", "-c", "", ";", "$HOME 5%"]
    assert encode.encode_command(words) == '"/bin/$x y" -c "" ";" "$$HOME 5%%"'


def test_settings_of_systemd_keep_dollars() -> None:
    assert encode.encode_setting_word("A=$x 5%") == '"A=$x 5%%"'


NEVER = {
    "NUL": ("a\0b", "NUL character"),
    "U+0080": ("a\x80b", r"U\+0080"),
    "surrogate": ("a\udcffb", "not UTF-8"),
    "noncharacter": ("a\ufffeb", r"U\+FFFE"),
    "noncharacter of the Arabic block": ("\ufdd0", r"U\+FDD0"),
    "noncharacter of another plane": ("\U0010ffff", r"U\+10FFFF"),
    "too long": ("x" * 131072, "131072 bytes long"),
    "too long in bytes": ("é" * 65536, "131072 bytes long"),
}


@pytest.mark.parametrize(("text", "reason"), NEVER.values(), ids=NEVER)
@pytest.mark.parametrize("encoder", [encode.encode_word, encode.encode_value, encode.encode_strv_word])
def test_what_never_arrives_is_refused_with_its_reason(
    encoder: encode.Encoder, text: str, reason: str
) -> None:
    with pytest.raises(EncodeError, match=reason) as caught:
        encoder(text)
    assert "\n" not in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize("text", ["x" * 131071, "é" * 65535])
def test_the_longest_word_is_let_through(text: str) -> None:
    assert text in encode.encode_word(text)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param("a\nb", "line break", id="newline"),
        pytest.param("a\rb", "line break", id="carriage return"),
        pytest.param(" a", "blanks", id="leading blank"),
        pytest.param("a\u00a0", "blanks", id="trailing no-break space"),
        pytest.param("a\\", "backslash", id="trailing backslash"),
        pytest.param('curl "x"', 'begins or ends with `"`', id="trailing quote"),
        pytest.param('"x" y', 'begins or ends with `"`', id="leading quote"),
    ],
)
def test_single_values_that_a_line_cannot_hold_are_refused(value: str, reason: str) -> None:
    with pytest.raises(EncodeError, match=reason):
        encode.encode_value(value)


def test_lines_of_lists_keep_their_quotes() -> None:
    assert encode.encode_item('"a b"') == '"a b"'


def test_lists_without_escapes_hold_no_line_break() -> None:
    with pytest.raises(EncodeError, match="line break"):
        encode.encode_strv_word("a\nb")


@pytest.mark.parametrize("program", ["sh", "-/bin/sh", "@/bin/sh", ""])
def test_commands_need_the_full_path_of_their_program(program: str) -> None:
    with pytest.raises(EncodeError, match="no absolute path"):
        encode.encode_command([program, "x"])


def test_messages_stay_short() -> None:
    assert len(encode.shown("x" * 5000)) < 100
