"""The documentation says what is true: keys and defaults of the spec, rendered lines, examples, options.

`python tests/test_docs.py` prints the generated table of docs/podman-versions.md.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from click.shell_completion import get_completion_class

from quadgen.cli.main import COMMANDS, cli
from quadgen.quadlet import keys
from quadgen.quadlet.render import render
from quadgen.quadlet.target import Target
from quadgen.quadlet.version import OLDEST, PodmanVersion
from quadgen.spec import load, table
from quadgen.spec.models import Probe, Quadlet, Restart, Service
from quadgen.spec.mounts import SecretUse, VolumeMount
from quadgen.spec.source import built_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quadgen.spec import Loaded

CHECKOUT = Path(__file__).parent.parent
DOCS = sorted((CHECKOUT / "docs").glob("*.md"))
PAGES = [*DOCS, *(CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md"))]


class Row(NamedTuple):
    """One key of the spec, or one row of a table in docs/spec.md."""

    chapter: str
    key: str
    default: str


# --- The keys of the spec -------------------------------------------------------------------------------

CHAPTERS = {
    "A service": Service,
    "A volume": VolumeMount,
    "A secret": SecretUse,
    "probe": Probe,
    "restart": Restart,
    "quadlet": Quadlet,
}


def spec_keys() -> Iterator[Row]:
    """Every key that a user can write."""
    for chapter, model in CHAPTERS.items():
        for name, row in table.keys(model).items():
            yield Row(chapter, name, "required" if row.factory is None else literal(row.factory()))


def literal(default: Any) -> str:
    """A default as TOML has it; empty for those that stand for something else, or for nothing."""
    if default is None or default in ((), {}) or type(default) in CHAPTERS.values():
        return ""
    if isinstance(default, tuple):
        return f"`{json.dumps([str(item) for item in default])}`"
    return f"`{json.dumps(default)}`"


def documented_keys() -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    chapter = ""
    for line in (CHECKOUT / "docs" / "spec.md").read_text().splitlines():
        if line.startswith("## "):
            chapter = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.split(" | ")]
        if len(cells) == 4 and (key := re.fullmatch(r"\| `([^`]+)`", cells[0])):
            assert (chapter, key[1]) not in found, f"{key[1]} stands twice"
            found[chapter, key[1]] = cells[2]
    return found


@pytest.mark.parametrize("row", list(spec_keys()), ids=lambda row: f"{row.chapter} {row.key}")
def test_a_key_of_the_spec_is_documented_with_its_default(row: Row) -> None:
    told = documented_keys()[row.chapter, row.key]
    if row.default:
        assert told == row.default
    else:
        assert told
        assert not re.fullmatch("`[^`]*`|required", told), "the model has no such default"


def test_no_other_keys_are_documented() -> None:
    assert documented_keys().keys() == {(row.chapter, row.key) for row in spec_keys()}


# --- Examples -------------------------------------------------------------------------------------------


class Example(NamedTuple):
    place: str
    text: str
    fragment: bool


def examples() -> Iterator[Example]:
    for page in PAGES:
        text = page.read_text()
        for block in re.finditer(r"^```toml( fragment)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, block.start()) + 2
            yield Example(f"{page.name}:{line}", block[2], bool(block[1]))


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.place)
def test_an_example_can_be_loaded_and_rendered(example: Example, load_text: Callable[[str], Loaded]) -> None:
    loaded = load_text(completed(example.text) if example.fragment else example.text)
    assert [finding.message for finding in loaded.findings] == []
    for target in (Target(PodmanVersion(5, 8)), Target(PodmanVersion(5, 4))):
        assert render(loaded.spec, target, "x").findings == ()


def test_examples_are_found() -> None:
    assert len(list(examples())) > 20


def completed(fragment: str) -> str:
    """A spec around a part of a service's table."""
    service = {"model": "org/model"} | tomllib.loads(fragment)
    return f"service.example = {as_toml(service)}\n"


def as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {as_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(value)


# --- Rendered lines -------------------------------------------------------------------------------------

GOLDEN = [path for path in sorted((CHECKOUT / "quadlets").iterdir()) if path.suffix != ".toml"]


def golden_lines() -> Iterator[str]:
    """The lines of the shipped files, and those that an installed service has in their place."""
    loaded = load(built_in("vllm-qwen"))
    installed = render(loaded.spec, Target(), loaded.source.label).files
    texts = [path.read_text() for path in GOLDEN]
    texts += [file.text for file in installed if not file.name.endswith(".probe")]
    lines = (line for text in texts for line in text.splitlines() if "=" in line)
    yield from dict.fromkeys(line for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("line", list(golden_lines()), ids=lambda line: line[:40])
def test_each_line_of_the_built_in_service_is_explained(line: str) -> None:
    page = (CHECKOUT / "docs" / "defaults.md").read_text()
    told = [
        found.removesuffix(" …").removesuffix('"…"]')
        for found in re.findall(r"^\| `([^`]+)`", page, re.MULTILINE)
    ]
    assert line in told or any(
        line.startswith(start) for start in told if start.startswith(("Exec", "HealthCmd="))
    )


def test_no_line_is_explained_that_is_not_rendered() -> None:
    page = (CHECKOUT / "docs" / "defaults.md").read_text()
    shortened = ("Exec", "HealthCmd=")
    told = {
        line
        for line in re.findall(r"^\| `([^`]+=[^`]*)`", page, re.MULTILINE)
        if not line.startswith(shortened)
    }
    assert told <= set(golden_lines())


# --- Commands -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_documented(name: str) -> None:
    page = (CHECKOUT / "docs" / "commands.md").read_text()
    shared, *chapters = re.split(r"^## ", page, flags=re.MULTILINE)
    chapter = next(text for text in chapters if text.startswith(f"{name}\n"))
    general = next(text for text in chapters if text.startswith("Options of every command"))
    command = cli.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    for parameter in command.params:
        for option in (*parameter.opts, "--help"):
            if option.startswith("-"):
                assert f"`{option}" in general or option in chapter
    assert f"[`{name}`](#{name})" in shared + chapters[0]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_what_the_page_says(shell: str) -> None:
    page = (CHECKOUT / "docs" / "commands.md").read_text()
    assert f"_QUADGEN_COMPLETE={shell}_source quadgen" in page
    completion = get_completion_class(shell)
    assert completion is not None
    complete = completion(cli, {}, "quadgen", "_QUADGEN_COMPLETE")
    assert [item.value for item in complete.get_completions([], "")] == list(COMMANDS)
    assert "--output" in [item.value for item in complete.get_completions(["render"], "--o")]


# --- Keys by Podman release -----------------------------------------------------------------------------


def version_table() -> str:
    """Keys that came after the oldest Podman, release by release; those of sections that quadgen writes."""
    rows = ["| Podman | section | becomes a flag before | refused before |", "|---|---|---|---|"]
    found: dict[tuple[PodmanVersion, str], tuple[list[str], list[str]]] = {}
    for section in ("Container", "Volume", "Network", "Image"):
        for name in keys.key_names(section):
            key = keys.find_key(section, name)
            first = max(keys.section_since(section) or OLDEST, OLDEST)
            if key and key.since > first:
                flags, refused = found.setdefault((key.since, section), ([], []))
                since = f" (from {key.form_since})" if key.form_since else ""
                (flags if key.form else refused).append(f"`{name}`{since}")
    for (since, section), cells in sorted(found.items(), key=lambda item: (item[0][0], item[0][1])):
        rows.append(f"| {since} | {section} | {' | '.join(', '.join(cell) for cell in cells)} |")
    return "".join(f"{row}\n" for row in rows)


def test_the_table_of_keys_is_up_to_date() -> None:
    assert version_table() in (CHECKOUT / "docs" / "podman-versions.md").read_text()


# --- Links ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file), target


def anchors(page: Path) -> set[str]:
    """The anchors that headings get on the usual sites: lower case, dashes for blanks, no punctuation."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


# --- Gaps: words in capitals that stand for text to come -------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_nothing_is_left_to_be_filled_in(page: Path) -> None:
    assert re.findall(r"^[A-Z_]{4,}$|TODO|FIXME", page.read_text(), re.MULTILINE) == []


if __name__ == "__main__":
    print(version_table(), end="")  # noqa: T201
