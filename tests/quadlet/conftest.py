"""The real Quadlet generators of this machine, and a stand-in for what systemd makes of their output."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from quadgen.quadlet.version import OLDEST, PodmanVersion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CHECKOUT = Path(__file__).resolve().parents[2]
PLACE = "libexec/podman/quadlet"


@dataclass(frozen=True)
class Converted:
    """What a generator made of a folder: the text of each service, and what it said about the rest."""

    services: Mapping[str, str]
    messages: str

    def argv(self, service: str, key: str = "ExecStart") -> list[str]:
        """The command of a service as systemd would run it."""
        text = self.services[service]
        section = re.split(r"^\[.*\]$", text.partition("\n[Service]\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
        line = re.search(rf"^{key}=(.*)$", section, re.MULTILINE)
        assert line, text
        variables = dict(
            word.partition("=")[::2]
            for value in re.findall(r"^Environment=(.*QUADGEN_.*)$", section, re.MULTILINE)
            for word in exec_words(value, {})
        )
        return exec_words(line[1], variables)


@dataclass(frozen=True)
class Generator:
    """One build of Podman's generator."""

    program: Path
    version: PodmanVersion
    folder: Path

    def convert(self, units: Mapping[str, str]) -> Converted:
        """Run the generator over unit files, given by name and text."""
        for old in self.folder.iterdir():
            old.unlink()
        for name, text in units.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        done = subprocess.run(
            [self.program, "-dryrun", "-user", "-no-kmsg-log"],
            env={"QUADLET_UNIT_DIRS": str(self.folder), "PATH": os.defpath, "PODMAN": "/usr/bin/podman"},
            capture_output=True,
            check=False,
            encoding="utf-8",
        )
        parts = re.split(r"^---(.+\.service)---$", done.stdout, flags=re.MULTILINE)[1:]
        return Converted(dict(zip(parts[::2], parts[1::2], strict=True)), done.stderr)


def exec_words(line: str, variables: Mapping[str, str]) -> list[str]:
    """Split a command line as systemd does: words, quotes, C escapes, then specifiers, then variables."""
    words = []
    for found in re.finditer(r'(?:"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[^ \t"\'\\]|\\.)+', line):
        parts = re.findall(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|(?:[^"\'\\]|\\.)+', found[0])
        assert found[0] != ";", line
        raw = b"".join(_unescape(part[1:-1] if part[0] in "\"'" else part) for part in parts)
        words.append(_expand(raw.decode(), variables))
    return words


_ESCAPES = {b: v.encode() for b, v in zip("abfnrtvs\\\"'", "\a\b\f\n\r\t\v \\\"'", strict=True)}


def _unescape(text: str) -> bytes:
    return b"".join(
        plain.encode() if plain else _ESCAPES.get(escape) or bytes([int(escape[1:], 16)])
        for escape, plain in re.findall(r"\\(x[0-9a-f]{2}|.)|([^\\]+)", text)
    )


def _expand(word: str, variables: Mapping[str, str]) -> str:
    word = re.sub(r"%([%A-Za-z])", lambda found: "%" if found[1] == "%" else found[0], word)
    return re.sub(
        r"\$\$|\$\{([A-Z_]+)\}", lambda found: "$" if found[1] is None else variables[found[1]], word
    )


def _programs() -> Iterator[Path]:
    if named := os.environ.get("QUADGEN_GENERATORS"):
        yield from map(Path, named.split(":"))
        return
    yield Path("/usr") / PLACE
    yield from sorted((CHECKOUT / ".test-host").glob(f"*/usr/{PLACE}"))


def _version(program: Path) -> PodmanVersion:
    # 4.4 has no such flag.
    done = subprocess.run([program, "-version"], capture_output=True, check=False, text=True)
    return PodmanVersion.parse(done.stdout) if done.returncode == 0 else OLDEST


def _found() -> dict[PodmanVersion, Path]:
    return {_version(program): program for program in _programs() if program.is_file()}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "generator" in metafunc.fixturenames:
        found = _found() or {None: None}
        metafunc.parametrize(
            "generator", list(found.items()), ids=[f"podman-{version}" for version in found], indirect=True
        )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without any generator on this machine, the tests that need one do not belong to the run."""
    without = [item for item in items if "podman-None" in item.name]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]


@pytest.fixture
def generator(request: pytest.FixtureRequest, tmp_path: Path) -> Generator:
    version, program = request.param
    folder = tmp_path / "units"
    folder.mkdir()
    return Generator(program, version, folder)
