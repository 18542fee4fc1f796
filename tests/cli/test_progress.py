from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.cli.progress import Block, Lines
from quadgen.deploy.control import Progress

if TYPE_CHECKING:
    import pytest


def progress(*texts: str) -> list[Progress]:
    return [Progress(service=f"vllm-{letter}", text=text) for letter, text in zip("abc", texts, strict=False)]


def test_without_a_terminal_there_is_a_line_for_each_phase(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    for text in (
        "starting the server, 1s",
        "starting the server, 12 MB/s, 2s",
        "loading weights 5 % (1/19), 10s",
        "loading weights 42 % (8/19), 1m12s",
        "starting the server, 3s",
    ):
        lines.show(progress(text, "waiting for other units, 1s"))
    lines.show([Progress(service="vllm-a", text="serving qwen, after 2m00s", result="serving")])
    assert capsys.readouterr().err.splitlines() == [
        "vllm-a: starting the server, 1s",
        "vllm-b: waiting for other units, 1s",
        "vllm-a: starting the server, 12 MB/s, 2s",
        "vllm-a: loading weights 5 % (1/19), 10s",
    ]


def test_on_a_terminal_each_service_has_a_line_that_changes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    block = Block()
    block.show(progress("starting", "loading weights 42 % (8/19), 1m12s"))
    block.show(progress("starting", "loading weights 42 % (8/19), 1m12s"))
    block.show(progress("serving", "loading"))
    drawn = "\r\x1b[2Kvllm-a  starting\n\r\x1b[2Kvllm-b  loading weights 42 %…\n"
    redrawn = "\x1b[2A\r\x1b[2Kvllm-a  serving\n\r\x1b[2Kvllm-b  loading\n"
    assert capsys.readouterr().err == drawn + redrawn
