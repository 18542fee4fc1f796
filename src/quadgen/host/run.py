"""The one place that starts processes.

Every command line is a list of words, so no shell ever reads it. Programs run with `LC_ALL=C`, because
quadgen reads what they print.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from quadgen.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Completed:
    """A process that ended by itself.

    Args:
        argv: The words it was started with.
        status: Exit status; negative for the signal that ended it.
        stdout: What it printed; bytes that are not UTF-8 are replaced.
        stderr: The same for its messages.
    """

    argv: tuple[str, ...]
    status: int = 0
    stdout: str = ""
    stderr: str = ""

    @property
    def last_line(self) -> str:
        """The program's own last word: the last line of its messages, else of its output."""
        for text in (self.stderr, self.stdout):
            lines = text.strip().splitlines()
            if lines:
                return lines[-1].strip()
        return f"exit status {self.status}"

    def check(self, remedy: str = "") -> Completed:
        """This result, if the program succeeded.

        Args:
            remedy: What the user can do when it did not.

        Raises:
            HostError: The exit status is not 0.
        """
        if self.status != 0:
            raise HostError(f"{self.argv[0]} {_verb(self.argv)}failed: {self.last_line}", remedy)
        return self


class Runner(Protocol):
    """Starts programs and waits for them."""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float = DEFAULT_TIMEOUT,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run one program to its end, whatever its exit status.

        Args:
            argv: Program and arguments.
            timeout: Seconds; the program is killed after them.
            env: Variables beside the ones that quadgen was started with.

        Raises:
            HostError: It is not installed, may not be started, or ran out of time.
        """


class RealRunner:
    """Starts the machine's own programs."""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float = DEFAULT_TIMEOUT,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """See `Runner.run`."""
        words = tuple(argv)
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=timeout,
                env={**os.environ, **(env or {}), "LC_ALL": "C"},
                check=False,
            )
        except FileNotFoundError:
            raise _not_installed(words[0]) from None
        except subprocess.TimeoutExpired:
            raise HostError(
                f"{words[0]} {_verb(words)}did not end within {timeout:g} s",
                f"run it by hand to see where it hangs: {' '.join(words)}",
            ) from None
        except OSError as error:
            raise HostError(f"{words[0]} cannot be started: {error.strerror}") from None
        return Completed(words, done.returncode, done.stdout, done.stderr)


@dataclass(slots=True)
class FakeRunner:
    """A runner for tests: answers by the longest matching beginning of a command line.

    Args:
        answers: Beginning of a command line, as one text with single blanks (`podman secret ls`), to its
            answer: a result (its `argv` is filled in), an output for exit status 0, or an error to raise.

    A command line that nothing matches is a program that is not installed.
    """

    answers: Mapping[str, Completed | str | HostError] = field(default_factory=dict)
    calls: list[tuple[str, ...]] = field(default_factory=list)
    environments: list[dict[str, str]] = field(default_factory=list)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float = DEFAULT_TIMEOUT,  # noqa: ARG002 - nothing takes time here
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """See `Runner.run`."""
        words = tuple(argv)
        self.calls.append(words)
        self.environments.append(dict(env or {}))
        for length in range(len(words), 0, -1):
            answer = self.answers.get(" ".join(words[:length]))
            if answer is not None:
                return _answer(words, answer)
        raise _not_installed(words[0])


def _answer(words: tuple[str, ...], answer: Completed | str | HostError) -> Completed:
    if isinstance(answer, HostError):
        raise answer
    if isinstance(answer, str):
        return Completed(words, stdout=answer)
    return Completed(words, answer.status, answer.stdout, answer.stderr)


def _not_installed(program: str) -> HostError:
    return HostError(f"{program} is not installed", f"install {program}, or add its folder to PATH")


def _verb(argv: tuple[str, ...]) -> str:
    """The first word that is no option, to tell `systemctl stop` from `systemctl show`."""
    return next((f"{word} " for word in argv[1:] if not word.startswith("-")), "")
