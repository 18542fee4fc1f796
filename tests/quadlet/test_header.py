from __future__ import annotations

import os

import pytest

from quadgen import __version__
from quadgen.quadlet.header import Header, read, stamp

BODY = "[Container]\nImage=docker.io/x/y:1\n"


@pytest.mark.parametrize(
    "spec",
    [
        "/home/u/quadgen.toml",
        "built-in vllm-qwen",
        "/home/ü ñ/a b.toml",
        "/x/line\nbreak.toml",
        "/x/carriage\rreturn\x85\u2028.toml",
        "/x/backslash\\",
        "/x/" + os.fsdecode(b"\xff\xfe") + ".toml",
        '/x/"quoted"; %n $HOME.toml',
        "/x/[Container]",
    ],
)
def test_any_spec_survives_and_makes_two_comment_lines(spec: str) -> None:
    text = stamp(BODY, spec=spec, services=["b", "a"])
    assert read(text) == Header(spec=spec, services=("a", "b"), intact=True, body=BODY)
    first, second, rest = text.split("\n", 2)
    assert rest == BODY
    for line in (first, second):
        assert line.startswith("#")
        assert not line.endswith("\\")
        assert line.splitlines() == [line]
    text.encode("utf-8")


def test_first_line_says_what_to_edit() -> None:
    text = stamp(BODY, spec="/home/u/quadgen.toml", services=["a"])
    assert text.startswith(
        "# Written by quadgen from /home/u/quadgen.toml: edit that, then run `quadgen install`.\n"
    )


def test_same_input_gives_same_bytes_in_any_order_of_services() -> None:
    assert stamp(BODY, spec="/s", services=["a", "b"]) == stamp(BODY, spec="/s", services=["b", "a"])


def test_header_does_not_name_a_release() -> None:
    assert __version__ not in stamp(BODY, spec="/s", services=["a"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("Image=", "Image=x", id="body"),
        pytest.param("\n", "\r\n", id="line-ends"),
        pytest.param('["a"]', '["b"]', id="services"),
        pytest.param('"/s"', '"/t"', id="spec"),
        pytest.param("edit that", "edit this", id="first-line"),
        pytest.param('","spec"', '", "spec"', id="form"),
    ],
)
def test_any_edit_shows(old: str, new: str) -> None:
    text = stamp(BODY, spec="/s", services=["a"])
    assert old in text
    header = read(text.replace(old, new))
    assert header is None or not header.intact


def test_text_after_the_end_shows() -> None:
    header = read(stamp(BODY, spec="/s", services=["a"]) + "\n")
    assert header is not None
    assert not header.intact


def test_bytes_that_are_not_utf8_are_an_edit_like_any_other() -> None:
    text = (stamp(BODY, spec="/s", services=["a"]).encode() + b"\xff").decode("utf-8", "surrogateescape")
    header = read(text)
    assert header is not None
    assert not header.intact


FIRST = "# Written by quadgen from /s: edit that, then run `quadgen install`.\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        BODY,
        "# Written by quadgen from /s",
        FIRST,
        FIRST + "# quadgen: not json\n",
        FIRST + "# quadgen: []\n",
        FIRST + '# quadgen: {"spec":"/s","services":["a"]}\n',
        FIRST + '# quadgen: {"spec":1,"services":["a"],"sha256":""}\n',
        FIRST + '# quadgen: {"spec":"/s","services":[1],"sha256":""}\n',
        FIRST + '# quadgen: {"spec":"/s","services":null,"sha256":""}\n',
        "\n" + stamp(BODY, spec="/s", services=["a"]),
    ],
)
def test_other_files_have_no_header(text: str) -> None:
    assert read(text) is None
