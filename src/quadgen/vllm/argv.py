"""The words that follow the image: the model first, then every option once, by its full name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from quadgen.errors import SpecError, UsageError
from quadgen.findings import Finding
from quadgen.vllm import catalog as catalogs
from quadgen.vllm.entries import Entries, read_entries
from quadgen.vllm.reading import JsonProblem, UnfitValueError
from quadgen.vllm.structure import structural_words
from quadgen.vllm.values import read_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.entries import Entry
    from quadgen.vllm.option import Option
    from quadgen.vllm.reading import Reading

Command: TypeAlias = Literal["serve", "launch render"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What one service asks of vLLM.

    Args:
        model: Hub id or the path inside the container.
        release: vLLM's release, such as "0.33.0".
        served_names: The names that requests use; empty for the model itself.
        options: The `serve` table as TOML has it.
        env: Environment variables of the container.
        command: What the image is asked to run.
        capability: Compute capability of the weakest GPU, 89 for 8.9; None for unknown.
        gpu_count: How many GPUs the container sees; None for unknown.
        config: The model's `config.json`; None where it is not at hand.
        port: Port inside the container that is published and probed; None for whatever the options say.
        reachable: Whether anything beyond the loopback interface can reach the service.
        host_network: Whether the container shares the network of the host.
        revision: The model's revision; empty for the newest.
    """

    model: str
    release: str
    served_names: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    command: Command = "serve"
    capability: int | None = None
    gpu_count: int | None = None
    config: Mapping[str, Any] | None = None
    port: int | None = None
    reachable: bool = False
    host_network: bool = False
    revision: str = ""


def catalog_of(release: str) -> Catalog | None:
    """The catalog of a release, or None where there is none."""
    try:
        return catalogs.load(release)
    except UsageError:
        return None


class Arguments(NamedTuple):
    """A `serve` table, read.

    Args:
        words: What follows the model.
        values: What vLLM sees, by option name.
        keys: The key of the table that set each option.
        findings: What is wrong with keys and values.
    """

    words: tuple[str, ...]
    values: Mapping[str, Any]
    keys: Mapping[str, str]
    findings: tuple[Finding, ...]


def argv(invocation: Invocation) -> tuple[str, ...]:
    """The words of `Exec=` for an image whose entrypoint is `vllm serve`.

    Args:
        invocation: What the service asks of vLLM.

    Raises:
        SpecError: A key or a value cannot become words that vLLM reads as the spec means them.
    """
    catalog = catalog_of(invocation.release)
    names = served_name_words(invocation.served_names)
    if catalog is None:
        return (invocation.model, *names, *structural_words(invocation.options))
    arguments = read_arguments(invocation, catalog)
    errors = [finding for finding in arguments.findings if finding.severity == "error"]
    if errors:
        raise SpecError(errors)
    return (invocation.model, *names, *arguments.words)


def served_name_words(served_names: tuple[str, ...]) -> tuple[str, ...]:
    """`--served-model-name` and the names; nothing where the model's own name is served."""
    return ("--served-model-name", *served_names) if served_names else ()


def read_arguments(invocation: Invocation, catalog: Catalog) -> Arguments:
    """Read a whole `serve` table.

    Args:
        invocation: What the service asks of vLLM.
        catalog: The release's catalog.
    """
    entries = read_entries(invocation.options, catalog, invocation.command)
    words: list[str] = []
    values: dict[str, Any] = {}
    for entry in entries.rows.values():
        try:
            reading = read_value(entry.option, entry.value, catalog)
            words += option_words(entry.option, reading)
            values[entry.option.name] = reading.value
        except UnfitValueError as problem:
            _report(entries, entry, problem)
    keys = {name: entry.key for name, entry in entries.rows.items()}
    return Arguments(tuple(words), values, keys, tuple(entries.findings))


def _report(entries: Entries, entry: Entry, problem: UnfitValueError) -> None:
    """A value that must not be shown is not shown, whatever is wrong with it."""
    for row in problem.problems:
        place = ".".join(map(str, (entry.option.name, *row.path)))
        message = (
            f"{place}: {row.message}" if not entry.option.secret else f"{place} has a value of the wrong kind"
        )
        path = ("serve", *entry.source(row.path))
        finding = Finding(severity="error", code=row.code, message=message, remedy=row.remedy, path=path)
        entries.findings.append(finding)


def option_words(option: Option, reading: Reading) -> list[str]:
    """An option and its words, so that vLLM's parser takes each word for what it is.

    Raises:
        UnfitValueError: The parser would take one of several values for an option.
    """
    flag = option.flags[0]
    if option.kind in {"flag", "boolean"}:
        if reading.value:
            return [flag]
        return list(option.negative[:1])
    if option.repeats:
        return [word for value in reading.words for word in _pair(flag, value)]
    if len(reading.words) == 1:
        return _pair(flag, reading.words[0])
    for word in reading.words:
        if word.startswith("-") and not _is_negative_integer(word):
            problem = JsonProblem(
                "value-leading-dash", (), f'"{word}" in a list looks like an option to vLLM', ""
            )
            raise UnfitValueError(problem)
    return [flag, *reading.words]


def _pair(flag: str, word: str) -> list[str]:
    """The parser reads a word with a leading dash as an option, unless it is joined to its own.

    An empty word is joined as well: Quadlet's generator ends the list at one.
    """
    return [f"{flag}={word}"] if word.startswith("-") or not word else [flag, word]


def _is_negative_integer(word: str) -> bool:
    """The parser takes these for numbers; one with a point would be read as a dotted JSON key."""
    return word[1:].isdigit() and word.isascii()
