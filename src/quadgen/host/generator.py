"""Asking Quadlet's own generator, before anything is installed, what it makes of the unit files.

Its exit status says little: up to Podman 4.5 it is always 0, and in no release does it name the unit. So
its messages are read, in the words of each release, and its output must hold every service.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quadgen.findings import Finding
from quadgen.host.services import generated_service, is_quadlet

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from quadgen.host.run import Completed, Runner

_PREFIX = re.compile(r"^quadlet-generator\[\d+\]: ")
# 4.4 and 4.5; from 4.6 on; and a file that is no unit file at all.
_ERRORS = (
    re.compile(r"^Error converting '(?P<file>[^']+)', ignoring: (?P<text>.*)$"),
    re.compile(r"^converting \"(?P<file>[^\"]+)\": (?P<text>.*)$"),
    re.compile(r"^[Ee]rror loading [\"'](?P<file>[^\"']+)[\"'],(?: ignoring:)? (?P<text>.*)$"),
)
_KEY = re.compile(r"unsupported key '(?P<key>[^']+)' in group '(?P<group>[^']+)'")
_PLACE = re.compile(r" in /\S.*$")
# Printed about everything that it reads, with or without an error.
_NOISE = ("Loading source unit file", "processing encountered some errors")

_REMEDIES = (
    (r"unsupported key", "take it out of the spec's `quadlet` table, or use a Podman that knows it"),
    (r"requested Quadlet (source|image|network|unit)", "install that unit too, or correct its name"),
    (r"file contains line", "correct that line, or remove the file"),
)


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that the generator said about one file.

    Args:
        file: The file's name.
        text: What it said, without its own decoration.
        error: The file gives no service; else it is a warning.
        key: The key that it is about, such as `Container.ShmSize`; empty where it names none.
    """

    file: str
    text: str
    error: bool
    key: str = ""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What the generator would do.

    Args:
        messages: What it said about the files asked for.
        services: Every service that it would write, other people's included.
        missing: Files asked for that give no service, though no message says why.
        failure: Why, as far as can be told.
    """

    messages: tuple[Message, ...]
    services: frozenset[str]
    missing: tuple[str, ...]
    failure: str = ""

    def findings(self, services: Mapping[str, Sequence[str]] | None = None) -> Iterator[Finding]:
        """The same for the user.

        Args:
            services: The spec's services that each file is for.
        """
        for message in self.messages:
            yield Finding(
                severity="error" if message.error else "warning",
                code="quadlet-error" if message.error else "quadlet-warning",
                message=f"{message.file}: Quadlet says: {message.text}",
                remedy=_remedy(message.text) if message.error else "",
                path=_path((services or {}).get(message.file, ())),
            )
        for file in self.missing:
            yield Finding(
                severity="error",
                code="quadlet-nothing-made",
                message=f"{file}: Quadlet makes no service of it{self.failure and ': ' + self.failure}",
                remedy="look at the file with `quadgen render`",
                path=_path((services or {}).get(file, ())),
            )


def _path(services: Sequence[str]) -> tuple[str, ...]:
    return ("service", services[0]) if services else ()


def dry_run(
    runner: Runner,
    generator: Path,
    files: Mapping[str, str],
    *,
    beside: Mapping[str, str] | None = None,
    folders: Sequence[Path] = (),
    leave_out: Collection[Path] = (),
    recursive: bool = True,
) -> DryRun:
    """Run the generator over files that are not installed yet.

    Args:
        runner: Starts it.
        generator: The program.
        files: Names and contents.
        beside: Other files of the same folder: they are read, and nothing about them is an error.
        folders: The Quadlet folders of the machine, so that references to other units resolve.
        leave_out: Files in them that would not be there any more.
        recursive: Quadlet reads sub-folders (from Podman 4.7).

    Raises:
        HostError: The generator cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="quadgen-") as top:
        # Absolute, since releases up to 5.2 give up on a relative entry; ours first, since the first
        # file of a name wins; one folder for each of theirs, since a broken file spoils its whole folder.
        staged = Path(top).resolve() / "0"
        staged.mkdir()
        for name, text in {**(beside or {}), **files}.items():
            (staged / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        sources = _all_folders(folders, recursive=recursive)
        copies = [_copy(source, staged, number, leave_out) for number, source in enumerate(sources, 1)]
        done = _run(runner, generator, [staged, *copies])
    return _judge(done, files, beside or {})


def _run(runner: Runner, generator: Path, folders: Iterable[Path]) -> Completed:
    env = {"QUADLET_UNIT_DIRS": ":".join(map(str, folders))}
    argv = [str(generator), "-dryrun", "-user"]
    done = runner.run([*argv, "-no-kmsg-log"], env=env)
    if "flag provided but not defined" in done.stderr:  # the flag came with 4.5
        done = runner.run(argv, env=env)
    return done


def _all_folders(folders: Sequence[Path], *, recursive: bool) -> Iterator[Path]:
    seen = set()
    for folder in folders:
        for top, below, _ in os.walk(folder):
            below[:] = sorted(name for name in below if not name.endswith(".d")) if recursive else []
            if top not in seen:
                seen.add(top)
                yield Path(top)


def _copy(source: Path, staged: Path, number: int, leave_out: Collection[Path]) -> Path:
    """What Quadlet reads of a folder, without some of its files."""
    target = staged.parent / str(number)
    target.mkdir()
    for path in sorted(source.iterdir()):
        if path in leave_out:
            continue
        if path.is_file() and is_quadlet(path.name):
            (target / path.name).symlink_to(path)
        elif path.name.endswith(".d") and path.is_dir():
            shutil.copytree(path, target / path.name, ignore_dangling_symlinks=True)
    return target


def _judge(done: Completed, files: Mapping[str, str], beside: Mapping[str, str]) -> DryRun:
    services = frozenset(re.findall(r"^---(.+\.service)---$", done.stdout, re.MULTILINE))
    messages = tuple(dict.fromkeys(_messages(done.stderr, files, beside)))
    told = {message.file for message in messages if message.error}
    missing = tuple(
        name
        for name, text in files.items()
        if (service := generated_service(name, text)) and service not in services and name not in told
    )
    return DryRun(messages, services, missing, _failure(done, beside) if missing else "")


def _failure(done: Completed, beside: Collection[str]) -> str:
    """Why good files gave nothing: one file that is no unit file spoils its folder, from 5.0 on."""
    lines = [line for raw in done.stderr.splitlines() if (line := _PREFIX.sub("", raw.strip()))]
    for line in lines:
        if (broken := _ERRORS[2].match(line)) and broken["file"].rpartition("/")[2] in beside:
            return f"{broken['file'].rpartition('/')[2]} spoils the folder, since {broken['text']}"
    told = [line for line in lines if not line.startswith((*_NOISE, "Warning: "))]
    return told[-1] if told else ""


def _messages(stderr: str, files: Collection[str], beside: Collection[str]) -> Iterator[Message]:
    for raw in stderr.splitlines():
        line = _PREFIX.sub("", raw.strip())
        if line.startswith(_NOISE):
            continue
        error = next((match for pattern in _ERRORS if (match := pattern.match(line))), None)
        if error is None:
            words = set(re.split(r"[\s\"',:/]+", line))
            text = line.removeprefix("Warning: ")
            yield from (Message(name, text, error=False) for name in files if name in words)
            continue
        name = error["file"].rpartition("/")[2]
        if name in files or name in beside:
            key = _KEY.search(error["text"])
            text = _PLACE.sub("", error["text"]) if key else error["text"]
            yield Message(name, text, name in files, f"{key['group']}.{key['key']}" if key else "")


def _remedy(text: str) -> str:
    for pattern, remedy in _REMEDIES:
        if re.search(pattern, text):
            return remedy
    return "correct the value in the spec; `quadgen render` shows the file"
