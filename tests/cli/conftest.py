from __future__ import annotations

import sys
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

# Samples of other folders, which are no packages.
sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in ("deploy", "probe")]

from served import Home, blocks  # noqa: E402

from quadgen.cli.main import cli  # noqa: E402

if TYPE_CHECKING:
    from click.testing import Result

# Answers `show` with the next of its texts, the last one for ever, and notes all other command lines.
SYSTEMCTL = """\
#!/bin/sh
cd "${0%/*}/answers" || exit 1
case $2 in
show)
    next=$(ls | head -n 1)
    cat "$next"
    [ "$(ls | wc -l)" -gt 1 ] && rm "$next"
    exit 0 ;;
esac
echo "$*" >>../calls
cat ../refusal >&2 2>/dev/null && [ "$2" != reset-failed ] && exit 1
exit 0
"""


class Machine:
    """A home, and a `systemctl` that says what a test lets it say."""

    def __init__(self, top: Path) -> None:
        self.home = Home(top / "home")
        self.programs = top / "bin"
        self.answers = self.programs / "answers"
        self.answers.mkdir(parents=True)
        self.program("systemctl", SYSTEMCTL)

    def program(self, name: str, text: str) -> None:
        """A program before all others."""
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)

    def says(self, *answers: list[dict[str, str]]) -> None:
        """What each `systemctl show` prints in turn, one table of fields for each unit asked for.

        Units come from the files that are installed, in the order of their names.
        """
        sources = sorted(map(str, self.home.base.rglob("*.container")))
        for path in self.answers.iterdir():
            path.unlink()
        for number, fields in enumerate(answers):
            named = zip_longest(fields, sources[: len(fields)], fillvalue="")
            told = [{"SourcePath": source, **unit} for unit, source in named]
            (self.answers / f"{number:03}").write_text(blocks(*told))

    @property
    def calls(self) -> list[str]:
        """What systemd was told to do, without `--user`."""
        path = self.programs / "calls"
        return (
            [line.removeprefix("--user ") for line in path.read_text().splitlines()] if path.exists() else []
        )

    def quadgen(self, *words: str, **options: Any) -> Result:
        """Run a command."""
        return CliRunner().invoke(cli, words, prog_name="quadgen", catch_exceptions=False, **options)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    for name, value in made.home.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", str(made.programs), prepend=":")
    monkeypatch.setenv("COLUMNS", "80")
    return made
