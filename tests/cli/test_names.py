from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.shell_completion import get_completion_class

from quadgen.cli.main import cli
from quadgen.cli.names import chosen
from quadgen.errors import UsageError

if TYPE_CHECKING:
    from tests.cli.conftest import Machine

KNOWN = ("vllm-a", "vllm-b")


@pytest.mark.parametrize(
    ("names", "everything", "wanted"),
    [
        (("vllm-a",), False, ("vllm-a",)),
        (("vllm-b", "vllm-a", "vllm-b.service"), False, ("vllm-b", "vllm-a")),
        ((), True, KNOWN),
    ],
    ids=["one", "twice", "all"],
)
def test_services_are_chosen_once_each(
    names: tuple[str, ...], everything: bool, wanted: tuple[str, ...]
) -> None:
    assert chosen(names, KNOWN, everything=everything) == wanted


@pytest.mark.parametrize(
    ("names", "everything", "known", "remedy"),
    [
        ((), False, KNOWN, "there are: vllm-a, vllm-b"),
        ((), False, (), "there are: none"),
        (("vllm-a",), True, KNOWN, "there are: vllm-a, vllm-b"),
        (("vllm-c",), False, KNOWN, "did you mean"),
        (("x",), False, KNOWN, "one of: vllm-a, vllm-b"),
        (("x",), False, (), "run `quadgen install` first"),
    ],
    ids=["none", "none and nothing", "both", "near", "far", "nothing"],
)
def test_what_is_not_there_is_refused(
    names: tuple[str, ...], everything: bool, known: tuple[str, ...], remedy: str
) -> None:
    with pytest.raises(UsageError) as error:
        chosen(names, known, everything=everything)
    assert remedy in error.value.remedy


@pytest.mark.parametrize(
    ("words", "begun", "found"),
    [
        (["start"], "", ["vllm-a", "vllm-b"]),
        (["stop", "vllm-a"], "v", ["vllm-b"]),
        (["restart"], "x", []),
        (["status"], "vllm-b", ["vllm-b"]),
        (["probe", "once"], "", ["vllm-a", "vllm-b"]),
        (["probe"], "", ["once"]),
    ],
    ids=["start", "stop", "restart", "status", "probe once", "probe"],
)
def test_the_shell_completes_installed_services(
    machine: Machine, words: list[str], begun: str, found: list[str]
) -> None:
    machine.home.install("vllm-a")
    machine.home.install("vllm-b", probe=False)
    completion = get_completion_class("bash")
    assert completion is not None
    complete = completion(cli, {}, "quadgen", "_QUADGEN_COMPLETE")
    assert [item.value for item in complete.get_completions(words, begun)] == found


def test_a_mistyped_subcommand_is_answered_with_the_nearest(machine: Machine) -> None:
    done = machine.quadgen("probe", "onec")
    assert done.exit_code == 2
    assert "did you mean once?" in done.stderr
