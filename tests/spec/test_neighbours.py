"""What services do to each other, and what only a probe makes sensible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quadgen.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from quadgen.spec import Loaded

ONE = '[service.one]\nmodel = "/m"\nlisten = 8001\n'
TWO = '[service.two]\nmodel = "/m"\nlisten = 8002\n'
SHARE = "serve.gpu-memory-utilization = 0.45\n"


def codes(load_text: Callable[[str], Loaded], text: str) -> list[tuple[str, str, str]]:
    try:
        found = load_text(text).findings
    except SpecError as error:
        found = error.findings
    return [(finding.severity, finding.code, finding.key) for finding in found]


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        pytest.param('after = ["two.service"]\n', SHARE, [], id="one after the other"),
        pytest.param('after = ["two.service"]\n', 'after = ["one.service"]\n', ["service.one.after"], id="each other"),
        pytest.param('after = ["two.service"]\n', 'requires = ["one.container"]\n', ["service.one.after"], id="by file"),
        pytest.param('after = ["one.service"]\n', "", ["service.one.after"], id="itself"),
        pytest.param('after = ["quadgen-watch@one.service"]\n', "", ["service.one.after"], id="its own watch"),
        pytest.param("", 'quadlet.Unit.After = "one.service"\nquadlet.Unit.Before = ["x.service one.service"]\n', ["service.one.after"], id="raw"),
        pytest.param('after = ["other.service"]\n', 'after = ["one.service"]\n', [], id="others"),
    ],
)  # fmt: skip
def test_ordering_cycles_are_refused(
    load_text: Callable[[str], Loaded], one: str, two: str, expected: list[str]
) -> None:
    found = codes(load_text, f"{ONE}gpus = [0]\n{one}{TWO}gpus = [1]\n{two}")
    assert found == [("error", "ordering-cycle", key) for key in expected]


@pytest.mark.parametrize(
    ("one", "two", "warned"),
    [
        pytest.param("gpus = [0]\n", "gpus = [0]\n", "service.two.gpus", id="vLLM's own shares"),
        pytest.param("", "gpus = [3]\n", "service.two.gpus", id="all"),
        pytest.param("gpus = [0]\n", "gpus = [1]\n", "", id="two cards"),
        pytest.param('gpus = ["nvidia.com/gpu=0"]\n' + SHARE, "gpus = [0]\n" + SHARE, "", id="two halves"),
        pytest.param("gpus = [0]\n" + SHARE, "gpus = [0]\nserve.gpu-memory-utilization = 0.6\n", "service.two.serve.gpu-memory-utilization", id="too much"),
        pytest.param("gpus = [0]\n", 'gpus = [0]\nserve.kv-cache-memory-bytes = "2G"\n', "", id="in bytes"),
        pytest.param('accelerator = "none"\n', "gpus = [0]\n", "", id="none of it"),
    ],
)  # fmt: skip
def test_shares_of_a_card_must_fit(
    load_text: Callable[[str], Loaded], one: str, two: str, warned: str
) -> None:
    expected = [("warning", "card-too-small", warned)] if warned else []
    assert codes(load_text, ONE + one + TWO + two) == expected


@pytest.mark.parametrize(
    ("name", "warned"),
    [
        ("c", True),
        ("cafe", True),
        ("0123456789ab", True),
        ("0123456789abc", False),
        ("chat", False),
        ("a-1", False),
    ],
)
def test_a_name_that_podman_may_take_for_an_id_is_warned_of(
    load_text: Callable[[str], Loaded], name: str, warned: bool
) -> None:
    expected = [("warning", "name-like-an-id", f"service.{name}")] if warned else []
    assert codes(load_text, f'[service.{name}]\nmodel = "/m"\n') == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('auto-update = "local"\nprobe.mode = "off"\n', [("error", "update-without-gate", "service.one.auto-update")]),
        ('auto-update = "local"\n', []),
        ("stop-timeout = 20\nserve.shutdown-timeout = 30\n", [("error", "drain-cut-off", "service.one.stop-timeout")]),
        ("stop-timeout = 40\nserve.shutdown-timeout = 30\n", []),
        ("serve.shutdown-timeout = 30\n", []),
        ('serve.uds = "/run/v/s.sock"\n', [("warning", "socket-inside", "service.one.serve.uds")]),
        ('serve.uds = "/run/v/s.sock"\nvolumes = ["/srv/s:/run/v"]\n', []),
    ],
)  # fmt: skip
def test_what_belongs_together(
    load_text: Callable[[str], Loaded], text: str, expected: list[tuple[str, str, str]]
) -> None:
    assert codes(load_text, ONE + text) == expected
