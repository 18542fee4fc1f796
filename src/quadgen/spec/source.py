"""Which file is the spec, and what stands in it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from quadgen import resources
from quadgen.errors import SpecError, UsageError
from quadgen.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping

BUILT_IN = "vllm-qwen"
_PLACE = r"\s*\(at (?:line (\d+), column \d+|end of document)\)$"


class SpecFloat(float):
    """A float that remembers how the user wrote it, because that is what vLLM shall read.

    Attributes:
        text: The number as written, without TOML's underscores.
    """

    text: str

    def __new__(cls, text: str) -> Self:
        """Take the text that the TOML reader hands over."""
        number = super().__new__(cls, text)
        number.text = text.replace("_", "")
        return number


class Source(NamedTuple):
    """A spec file.

    Args:
        label: How messages and unit files name it: the path, or `built-in NAME`.
        path: Where it is.
        built_in: Whether it is one of those that ship with quadgen.
    """

    label: str
    path: Path
    built_in: bool = False


def find(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> Source:
    """Choose the spec: --file, $QUADGEN_FILE, ./quadgen.toml, the user's own, the built-in service.

    Raises:
        UsageError: The file that was asked for is not there.
    """
    named = explicit or (Path(env["QUADGEN_FILE"]) if env.get("QUADGEN_FILE") else None)
    if named is not None:
        path = Path(cwd, named.expanduser())
        if not path.is_file():
            raise UsageError(f"{named}: no such file", "run `quadgen init` to write a first spec")
        return _named(path)
    for path in (cwd / "quadgen.toml", user_spec(env)):
        if path.is_file():
            return Source(str(path), path)
    return built_in(BUILT_IN)


def label_of(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> str:
    """How unit files name the spec that `find` would choose, also when it is gone."""
    try:
        return find(explicit, env, cwd).label
    except UsageError:
        named = explicit or Path(env["QUADGEN_FILE"])
        return str(Path(cwd, named.expanduser()))


def user_spec(env: Mapping[str, str]) -> Path:
    """The user's own spec, in the folder that the XDG rules give it."""
    config = env.get("XDG_CONFIG_HOME", "")
    return (Path(config) if config.startswith("/") else Path.home() / ".config") / "quadgen" / "quadgen.toml"


def _named(path: Path) -> Source:
    shipped = path.resolve().parent == resources.folder("quadlets").resolve()
    return built_in(path.stem) if shipped else Source(str(path), path)


def built_in(name: str) -> Source:
    """A service that ships with quadgen."""
    return Source(f"built-in {name}", resources.folder("quadlets") / f"{name}.toml", built_in=True)


def starter() -> str:
    """A first spec: a built-in service, and as comments the keys that most people change."""
    return (resources.folder("templates") / "quadgen.toml").read_text(encoding="utf-8")


def read(source: Source) -> tuple[str, dict[str, Any]]:
    """Read a spec file: its text, and the tables in it.

    Raises:
        UsageError: The file can't be read.
        SpecError: It is no TOML.
    """
    try:
        text = source.path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{source.label}: {error.strerror}", "name a file that you can read") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _no_toml(source, "the file is not UTF-8", line) from None
    try:
        return text, tomllib.loads(text, parse_float=SpecFloat)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = re.search(_PLACE, message)
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        raise _no_toml(source, re.sub(_PLACE, "", message), line) from None
    except (ValueError, RecursionError) as error:
        raise _no_toml(source, str(error), None) from None


def _no_toml(source: Source, what: str, line: int | None) -> SpecError:
    finding = Finding(
        severity="error",
        code="no-toml",
        message=f"this is no TOML: {what[:1].lower()}{what[1:]}",
        remedy="mend the line; text goes in quotes, and a key stands once in its table",
        file=source.label,
        line=line,
    )
    return SpecError([finding])
