from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from quadgen.errors import HostError
from quadgen.host.run import Completed, FakeRunner, RealRunner

if TYPE_CHECKING:
    from pathlib import Path


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_words_reach_the_program_untouched() -> None:
    words = ["a b", "$HOME", "`id`", "*", "", '"', "\\", "é"]
    done = RealRunner().run([*python("import sys; print(sys.argv[1:])"), *words])
    assert done.stdout == f"{words}\n"
    assert done.status == 0


def test_programs_speak_english_and_get_more_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("KEPT", "1")
    code = "import os; print(os.environ['LC_ALL'], os.environ['KEPT'], os.environ['MORE'])"
    assert RealRunner().run(python(code), env={"MORE": "2"}).stdout == "C 1 2\n"


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    done = RealRunner().run(python("import os; os.write(1, b'a\\xffb')"))
    assert done.stdout == "a\N{REPLACEMENT CHARACTER}b"


def test_standard_input_is_empty() -> None:
    assert RealRunner().run(python("import sys; print(repr(sys.stdin.read()))")).stdout == "''\n"


def test_missing_program_is_named_with_a_remedy() -> None:
    with pytest.raises(HostError, match="no-such-program is not installed") as caught:
        RealRunner().run(["no-such-program"])
    assert "install no-such-program" in caught.value.remedy


def test_program_that_may_not_be_started(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_text("")
    with pytest.raises(HostError, match="cannot be started: Permission denied"):
        RealRunner().run([str(file)])


def test_program_that_hangs_is_ended() -> None:
    with pytest.raises(HostError, match=r"did not end within 0.05 s"):
        RealRunner().run(python("import time; time.sleep(60)"), timeout=0.05)


@pytest.mark.parametrize(
    ("done", "message"),
    [
        pytest.param(
            Completed(("podman", "--log-level=error", "pull", "x"), 125, "out\n", "one\ntwo\n\n"),
            "podman pull failed: two",
            id="messages",
        ),
        pytest.param(
            Completed(("podman",), 1, "only this\n", " \n"), "podman failed: only this", id="output"
        ),
        pytest.param(Completed(("podman", "ps"), -9), "podman ps failed: exit status -9", id="silent"),
    ],
)
def test_failure_is_told_in_the_programs_own_last_words(done: Completed, message: str) -> None:
    with pytest.raises(HostError) as caught:
        done.check("do this")
    assert caught.value.message == message
    assert caught.value.remedy == "do this"


def test_success_passes_the_check() -> None:
    done = Completed(("true",))
    assert done.check() is done


class TestFakeRunner:
    def test_the_longest_beginning_answers(self) -> None:
        fake = FakeRunner({"podman": "general", "podman secret": "special"})
        assert fake.run(["podman", "ps"]).stdout == "general"
        assert fake.run(["podman", "secret", "ls"]).stdout == "special"
        assert fake.calls == [("podman", "ps"), ("podman", "secret", "ls")]

    def test_a_result_gets_the_words_that_asked_for_it(self) -> None:
        fake = FakeRunner({"podman": Completed((), 3, "", "no")})
        assert fake.run(["podman", "x"]) == Completed(("podman", "x"), 3, "", "no")

    def test_an_error_is_raised(self) -> None:
        with pytest.raises(HostError, match="boom"):
            FakeRunner({"podman": HostError("boom")}).run(["podman"])

    def test_what_nothing_answers_is_not_installed(self) -> None:
        with pytest.raises(HostError, match="systemctl is not installed"):
            FakeRunner({"podman": ""}).run(["systemctl", "--user"])
