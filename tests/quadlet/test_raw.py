from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quadgen.errors import EncodeError
from quadgen.quadlet.raw import check_text, has_octal, split_text, split_words
from quadgen.quadlet.refusal import Refusal
from quadgen.quadlet.version import PodmanVersion

if TYPE_CHECKING:
    from quadgen.quadlet.keys import KeyClass

DEBIAN_13 = PodmanVersion(5, 4, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("  a\t b ", ("a", "b")),
        ('"a b" c', ("a b", "c")),
        ("'a \"b\"' c", ('a "b"', "c")),
        ('a"b c"d', ("ab cd",)),
        (r"\x41\u00e9\U0001f600\101\s\t", ("Aé😀A \t",)),
        (r'"q\"x" \'y', ('q"x', "'y")),
        ("${X} %n", ("${X}", "%n")),
    ],
)
def test_words_are_split_as_the_generator_does(text: str, words: tuple[str, ...]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize(
    "text",
    ['"open', "it's", 'a "b', "'", r"\d", r"\.", r"\x00", r"\x4", r"\400", r"\18", r"\U00110000"],
)
def test_text_that_the_generator_drops_or_guesses_at_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        split_words(text)


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        (r"a\d 'b c'", "strv", (r"a\d", "b c")),
        ("/a b:/c", "list", ("/a b:/c",)),
        ("curl x", "string", ("curl x",)),
        ('"curl x"', "string", ("curl x",)),
        ("A=b 'C=d e'", "env", ("A=b", "C=d e")),
    ],
)
def test_each_class_has_its_own_way(text: str, kind: KeyClass, values: tuple[str, ...]) -> None:
    assert split_text(text, kind, DEBIAN_13) == values


@pytest.mark.parametrize(
    ("text", "kind", "version"),
    [
        pytest.param('a "" b', "argv", DEBIAN_13, id="empty word"),
        pytest.param("a ; b", "argv", DEBIAN_13, id="lone semicolon"),
        pytest.param('curl "x"', "string", DEBIAN_13, id="quote at one end"),
        pytest.param('""x""', "string", DEBIAN_13, id="quotes in quotes"),
        pytest.param('"', "string", DEBIAN_13, id="one quote"),
        pytest.param('"x"', "string", PodmanVersion(4, 9), id="quotes that are data before 5.0"),
        pytest.param('"open', "strv", DEBIAN_13, id="unbalanced"),
    ],
)
def test_text_that_would_be_cut_is_refused(text: str, kind: KeyClass, version: PodmanVersion) -> None:
    with pytest.raises(Refusal):
        split_text(text, kind, version)


@pytest.mark.parametrize("text", [r"\x80", r"\ufffe", r"\ud800"])
def test_escapes_of_characters_that_never_arrive_are_refused(text: str) -> None:
    with pytest.raises(EncodeError):
        split_text(text, "argv", DEBIAN_13)


@pytest.mark.parametrize("text", ["a\nb", "a\x01b", "a\\", "%Z", "a%%%kb", "x \\"])
def test_text_that_is_no_single_line_or_has_no_meaning_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        check_text(text)


@pytest.mark.parametrize("text", ["%n %h %%Z 100%", "%", "a\tb", "50% of", "$X ${Y}"])
def test_specifiers_and_variables_stay_the_users(text: str) -> None:
    assert check_text(f"  {text} ") == text


@pytest.mark.parametrize(
    ("text", "octal"), [(r"\101", True), (r"\\101", False), (r"\x41", False), ("101", False)]
)
def test_octal_escapes_are_seen(text: str, octal: bool) -> None:
    assert has_octal(text) is octal
