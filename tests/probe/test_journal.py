from __future__ import annotations

import json
import select
import stat
import time
from typing import TYPE_CHECKING

import pytest

from quadgen.probe.doubles import FakeRunner
from quadgen.probe.journal import JournalFollower, Line, lines, tail
from quadgen.probe.process import Completed

if TYPE_CHECKING:
    from pathlib import Path


def entry(message: object, identifier: str = "vllm-a") -> bytes:
    return json.dumps({"MESSAGE": message, "SYSLOG_IDENTIFIER": identifier}).encode()


BAR = "\rLoading shards:  10% | 1/10\rLoading shards:  20% | 2/10"


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("plain", ["plain"]),
        (list(BAR.encode()), ["Loading shards:  20% | 2/10"]),
        (list("größe".encode()), ["größe"]),
        ([200, 201], ["\ufffd\ufffd"]),
        ([1, 999], []),
        (["first", "second"], ["first"]),
        ([[104, 105], [106]], ["hi"]),
        (None, []),
        ("", []),
        ("\x1b[32mINFO\x1b[0m ok", ["INFO ok"]),
        ("a\nb", ["a", "b"]),
        ("quadgen gate: loading weights", []),
    ],
    ids=[
        "text",
        "bar",
        "blob",
        "no-utf-8",
        "no-bytes",
        "twice",
        "blobs",
        "null",
        "empty",
        "colour",
        "lines",
        "own",
    ],
)
def test_a_message_becomes_lines(message: object, texts: list[str]) -> None:
    assert [line.text for line in lines([entry(message)], ())] == texts


def test_what_is_no_entry_is_passed_over() -> None:
    assert list(lines([b"", b"{", b"[]", b"-- cursor", b"{}"], ())) == []


def test_only_wanted_identifiers_are_taken() -> None:
    entries = [entry("a", "vllm-a"), entry("b", "podman")]
    assert list(lines(entries, ("podman",))) == [Line(text="b", identifier="podman")]


def test_the_tail_of_an_invocation_is_read() -> None:
    runner = FakeRunner({"journalctl": Completed(status=0, stdout=entry("x").decode() + "\n")})
    assert [line.text for line in tail(runner, "abc", 20)()] == ["x"]
    assert "--lines=20" in runner.ran[0]
    assert "_SYSTEMD_INVOCATION_ID=abc" in runner.ran[0]
    assert tail(runner, "", 20)() == []
    assert tail(FakeRunner(), "abc", 20)() == []


@pytest.fixture
def journalctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    script = tmp_path / "journalctl"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return script


def install(script: Path, text: str) -> None:
    script.write_text("#!/bin/sh\n" + text)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


def read_until(follower: JournalFollower, count: int) -> list[str]:
    texts: list[str] = []
    until = time.monotonic() + 20
    while len(texts) < count and time.monotonic() < until and (fd := follower.fileno()) is not None:
        select.select([fd], [], [], 1)
        texts += [line.text for line in follower.read()]
    return texts


def test_a_log_is_followed_as_it_grows(journalctl: Path) -> None:
    install(
        journalctl,
        """echo '{"MESSAGE":"one"}'; printf '{"MESSA'; sleep 0.1; echo 'GE":"two"}'; exec sleep 60\n""",
    )
    follower = JournalFollower("abc")
    try:
        assert read_until(follower, 2) == ["one", "two"]
        assert follower.read() == []
        assert follower.fileno() is not None
    finally:
        follower.close()
    assert follower.fileno() is None
    assert follower.read() == []


def test_a_journal_that_cannot_be_read_ends_the_following(journalctl: Path) -> None:
    install(journalctl, "echo 'No journal files were opened' >&2; exit 1\n")
    follower = JournalFollower("abc")
    assert read_until(follower, 1) == []
    assert follower.fileno() is None


def test_without_journalctl_there_is_no_log(journalctl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(journalctl.parent))
    assert JournalFollower("abc").fileno() is None
    assert JournalFollower("").fileno() is None
