"""Whether the data is whole, consistent, small, and what the real parsers said."""

from __future__ import annotations

import importlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quadgen.vllm.catalog import RELEASES, life, load, variable_life
from quadgen.vllm.releases import VERSIONS

if TYPE_CHECKING:
    from quadgen.vllm.option import Option

ROOT = Path(__file__).parents[2]
DATA = ROOT / "src" / "quadgen" / "vllm" / "data"
# Dumps of the parsers made by another program; they lie beside the checkout where there are any.
FACTS = ROOT.parent / "shared" / "facts" / "vllm"

# Options, boolean pairs, options with a JSON class and environment variables, as counted in the real parsers.
COUNTS = {
    "0.20": (239, 66, 14, 250),
    "0.21": (247, 66, 14, 253),
    "0.22": (261, 69, 15, 266),
    "0.23": (261, 69, 15, 268),
    "0.24": (266, 70, 16, 268),
    "0.25": (270, 71, 16, 273),
    "0.26": (274, 73, 16, 280),
    "0.27": (282, 76, 17, 285),
    "0.28": (284, 77, 18, 295),
    "0.29": (292, 80, 18, 302),
    "0.30": (300, 82, 20, 302),
    "0.31": (311, 85, 22, 308),
    "0.32": (316, 88, 22, 316),
    "0.33": (320, 89, 23, 318),
}

every_release = pytest.mark.parametrize("release", RELEASES)


def options(release: str) -> list[Option]:
    return list(load(release).options.values())


@every_release
def test_has_as_many_rows_as_the_real_parser(release: str) -> None:
    rows = options(release)
    kinds = Counter(row.kind for row in rows)
    classes = sum(row.json_class is not None for row in rows)
    assert (len(rows), kinds["boolean"], classes, len(load(release).variables)) == COUNTS[release]


def test_all_data_is_below_a_megabyte() -> None:
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 1_000_000


@every_release
def test_every_option_and_variable_has_one_line_of_ours(release: str) -> None:
    rows: list[Any] = [*options(release), *load(release).variables.values()]
    lines = [row.summary for row in rows]
    assert [line for line in lines if not 20 <= len(line) <= 110 or line.endswith(".") or "\n" in line] == []
    assert [row.name for row in options(release) if len(row.summary) < 30] == []


def test_no_two_options_are_explained_alike() -> None:
    lines = Counter(row.summary for row in options(RELEASES[-1]))
    assert [line for line, count in lines.items() if count > 1] == []


@every_release
def test_no_spelling_means_two_options(release: str) -> None:
    spellings = Counter(flag for row in options(release) for flag in (*row.flags, *row.negative))
    assert [flag for flag, count in spellings.items() if count > 1] == []


@every_release
def test_names_are_the_first_spelling_without_dashes(release: str) -> None:
    assert [row.name for row in options(release) if row.flags[0] != f"--{row.name}"] == []
    assert [
        row.name for row in options(release) if not re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", row.name)
    ] == []


@every_release
def test_shape_and_kind_agree(release: str) -> None:
    for row in options(release):
        assert bool(row.negative) == (row.kind == "boolean"), row
        assert (row.arity == "0") == (row.kind in ("boolean", "flag")), row
        assert row.is_list == (row.kind.endswith("-list") or row.kind == "lora"), row
        assert bool(row.choices) == (row.kind.startswith("choice") or row.name == "max-lora-rank"), row
        assert set(row.hidden) <= {*row.flags, *row.negative}, row
        assert row.json_class is None or row.takes_json, row


DEFAULTS: dict[str, tuple[type, ...]] = {
    "flag": (bool,),
    "boolean": (bool,),
    "int": (int,),
    "float": (int, float),
    "text": (str,),
    "choice": (str,),
    "size": (int,),
    "size-or-auto": (int,),
    "json": (dict, list),
    "json-or-text": (dict, str),
    "lora": (list,),
    "level": (int,),
    "text-list": (list,),
    "int-list": (list,),
    "choice-list": (list,),
}


@every_release
def test_defaults_are_values_of_their_kind(release: str) -> None:
    for row in options(release):
        if row.default is None or row.repeats:
            continue
        assert isinstance(row.default, DEFAULTS[row.kind]), row
        assert isinstance(row.default, bool) == (row.kind in ("flag", "boolean")), row
        assert not row.choices or row.default in row.choices, row
        assert not row.bounds or row.bounds.allow(row.default), row


@every_release
def test_lives_hold_the_release(release: str) -> None:
    at = RELEASES.index(release)
    for row in [*options(release), *load(release).variables.values()]:
        last = row.until or RELEASES[-1]
        assert RELEASES.index(row.since) <= at <= RELEASES.index(last), row
    for row in options(release):
        found = life(row.name)
        assert found is not None, row
        assert found.releases[0] == row.since, row
        assert (found.gone is None) == (row.until is None), row


@every_release
def test_every_named_json_class_exists(release: str) -> None:
    known = load(release)
    waiting = [row.json_class for row in options(release) if row.json_class]
    seen = set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            types = " ".join(key.type for key in known.json_class(name).keys.values())
            waiting += re.findall(r"\b[A-Z]\w+", types)
    assert len(seen) > 15


@every_release
def test_json_keys_use_the_known_words_for_types(release: str) -> None:
    known = load(release)
    names = {row.json_class for row in options(release) if row.json_class}
    for key in (key for name in names for key in known.json_class(name).keys.values()):
        words = set(re.findall(r"\w+", key.type))
        assert words <= {"bool", "int", "float", "text", "choice", "none", "any", "list", "tuple", "dict"} | {
            word for word in words if word[0].isupper()
        }, key
        assert ("choice" in words) == bool(key.choices), key


def test_replacements_name_options_that_the_newest_release_takes() -> None:
    entries = [
        json.loads((DATA / f"{name}.json").read_text()) for name in ("options", "variables", "removed")
    ]
    removed = entries.pop()
    rows = [
        *(row for entry in entries for row in entry.values()),
        *removed["options"].values(),
        *removed["variables"].values(),
    ]
    newest = load(RELEASES[-1])
    for quoted in (word for row in rows for word in re.findall("`([^`]+)`", row.get("use", ""))):
        match = newest.find(quoted.split(" = ")[0])
        if match is None:
            assert quoted in ("model", "gpus"), quoted
            continue
        if match.keys:
            assert match.option.json_class is not None
            owner, *rest = match.keys
            keys = newest.json_class(match.option.json_class).keys
            assert owner in keys, quoted
            assert not rest or rest[0] in newest.json_class(keys[owner].type).keys, quoted


def test_removed_names_are_in_no_catalog() -> None:
    removed = json.loads((DATA / "removed.json").read_text())
    newest = load(RELEASES[-1])
    assert [
        name for name in removed["options"] if any(name in load(release).options for release in RELEASES)
    ] == []
    assert [name for name in removed["variables"] if name in newest.variables] == []


def test_releases_come_one_after_the_other() -> None:
    minors = [int(release.split(".")[1]) for release in RELEASES]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert all(version.startswith(f"{release}.") for release, version in VERSIONS.items())


def fact(name: str) -> Any:
    """A dump of the other program, or None where there is none."""
    path = FACTS / name
    return json.loads(path.read_text()) if path.is_file() else None


KINDS = {
    "flag": "flag",
    "bool": "boolean",
    "int": "int",
    "float": "float",
    "json": "json",
    "str_or_json": "json-or-text",
    "human_readable_int": "size",
    "human_readable_int_or_auto": "size-or-auto",
    "lora": "lora",
    "list[int]": "int-list",
    "list[str]": "text-list",
    "str": "text",
}


def as_fact(row: Option) -> dict[str, Any]:
    """The columns that both programs have, of our row."""
    return {
        "dest": row.dest,
        "flags": sorted(row.flags),
        "negative": sorted(row.negative),
        "hidden": sorted(row.hidden),
        "kind": {"level": "text", "choice": "text", "choice-list": "text-list"}.get(row.kind, row.kind),
        "arity": row.arity,
        "choices": list(row.choices),
        "suggestions": list(row.suggestions),
        "default": row.default,
        "group": row.group,
        "accepts_none": row.accepts_none,
    }


def of_fact(row: dict[str, Any]) -> dict[str, Any]:
    """The same columns of a row of the other program."""
    default, choices = row["default"], [value for value in row["choices"] or [] if value is not None]
    if isinstance(default, dict) and any(key.startswith("$") for key in default):
        default = {} if "$dataclass" in default else None
    return {
        "dest": row["dest"],
        "flags": sorted(row["flags"]),
        "negative": sorted(row.get("no_flags", [])),
        "hidden": sorted(row.get("hidden_flags", [])),
        "kind": KINDS[row["type"]],
        "arity": {0: "0", None: "1"}.get(row["nargs"], row["nargs"]),
        "choices": choices,
        "suggestions": [] if choices else [value for value in row.get("suggested", []) if value is not None],
        "default": None if default == "==SUPPRESS==" else default,
        "group": row["group"],
        "accepts_none": row.get("accepts_none", False),
    }


@every_release
def test_rows_are_those_that_another_program_read_from_the_parser(release: str) -> None:
    facts = fact(f"serve-args-{VERSIONS[release]}.json") or {"options": []}
    theirs = {row["flags"][0].lstrip("-"): of_fact(row) for row in facts["options"] if row["flags"]}
    ours = {row.name: as_fact(row) for row in options(release)} if theirs else {}
    assert ours.keys() == theirs.keys()
    assert {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]} == {}


@every_release
def test_limits_are_at_least_those_that_another_program_read(release: str) -> None:
    for row in (fact(f"serve-args-{VERSIONS[release]}.json") or {"options": []})["options"]:
        limits = {side: row[side] for side in ("ge", "gt", "le", "lt") if side in row}
        if limits:
            ours = load(release).options[row["flags"][0].lstrip("-")].bounds
            assert {side: getattr(ours, side) for side in limits} == limits, row["dest"]


@every_release
def test_json_keys_are_those_that_another_program_read(release: str) -> None:
    facts = fact(f"serve-args-{VERSIONS[release]}.json") or {"json_classes": {}}
    for name, keys in facts["json_classes"].items():
        assert list(load(release).json_class(name).keys) == sorted(keys), name


@every_release
def test_variables_are_those_that_another_program_read(release: str) -> None:
    facts = fact(f"env-vars-{VERSIONS[release]}.json")
    if facts:
        ours = load(release).variables
        assert {row["name"]: row["default"] or "None" for row in facts["variables"]} == {
            name: variable.default for name, variable in ours.items()
        }


def test_files_are_what_the_program_would_write_from_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    merge = importlib.import_module("vllmdump.merge")
    written = merge.files(merge.dumps(VERSIONS))
    assert {path.name for path in written} > {
        "options.json",
        "classes.json",
        "variables.json",
        "removed.json",
    }
    assert [path.name for path, text in written.items() if path.read_text(encoding="utf-8") != text] == []


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([{"a": 1}, {"a": 1}, {"a": 1}], id="unchanged"),
        pytest.param([{"a": 1}, {"a": 2}, {"a": 2, "b": 0}], id="changed and added"),
        pytest.param([{"a": 1, "b": 2}, {"a": 1}, {"a": 1, "b": 3}], id="key gone and back"),
        pytest.param([None, {"a": 1}, None], id="came and went"),
        pytest.param([{"a": 1}, None, {"a": 1}], id="went and came back"),
    ],
)
def test_histories_give_back_the_rows_they_were_made_of(
    rows: list[dict[str, int] | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    history = importlib.import_module("vllmdump.history")
    states = list(zip(("0.1", "0.2", "0.3"), rows, strict=True))
    assert history.decode(history.encode(states), ["0.1", "0.2", "0.3"]) == states


def test_removed_names_are_known_with_the_release_that_dropped_them() -> None:
    flags = (fact("removed-flags.json") or {"flags": {}})["flags"]
    variables = (fact("removed-env-vars.json") or {"variables": {}})["variables"]
    # Gone means read by nothing, though a declaration for type checkers may have stayed.
    found = {name: life(name) for name in flags if not name.startswith("--no-")}
    found.update((name, variable_life(name)) for name in variables)
    dropped = {name: row["gone_in"].rpartition(".")[0] for name, row in {**flags, **variables}.items()}
    assert {
        name: dropped[name] for name, row in found.items() if row is None or row.gone != dropped[name]
    } == {}
