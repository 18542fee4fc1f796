"""What each vLLM release takes on its command line and from its environment.

The rows are data made by `scripts/catalog` from the real parsers. A file keeps every row once: its first
state in full, later states as differences, `null` for "gone". Loading folds them up to one release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from quadgen.errors import UsageError
from quadgen.vllm.option import Bounds, JsonClass, JsonKey, Life, Option, Variable
from quadgen.vllm.releases import VERSIONS

RELEASES: tuple[str, ...] = tuple(VERSIONS)

_Row: TypeAlias = dict[str, Any]
# Pairs of a release and what became different in it.
_History: TypeAlias = list[tuple[str, _Row | None]]

_BOUNDS = ("ge", "gt", "le", "lt")
_TUPLES = {"flags", "negative", "hidden", "choices", "suggestions", "late_choices"}


@dataclass(frozen=True, slots=True)
class Match:
    """What a written form of an option means.

    Args:
        option: The option.
        negated: Whether the form is one of its negative spellings.
        keys: The dotted JSON keys behind the name.
        exact: False where the parser would have to read `_` as `-` first.
    """

    option: Option
    negated: bool = False
    keys: tuple[str, ...] = ()
    exact: bool = True


class _Options(Mapping[str, Option]):
    """Options by name, each built when it is first asked for: a service uses a dozen of over 300."""

    def __init__(self, rows: dict[str, _Row], lives: dict[str, _Row]) -> None:
        self._rows = rows
        self._lives = lives
        self._built: dict[str, Option] = {}

    def __getitem__(self, name: str) -> Option:
        if name not in self._built:
            self._built[name] = _option(name, self._rows[name], self._lives[name])
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class Catalog:
    """The options, JSON classes and environment variables of one release.

    Args:
        release: One of `RELEASES`.
    """

    def __init__(self, release: str) -> None:
        self.release = release
        self.version = VERSIONS[release]
        histories = _read("options")
        rows = {name: row for name, life in histories.items() if (row := _fold(life["rows"], release))}
        self.options: Mapping[str, Option] = _Options(rows, histories)
        self._forms = _forms(rows)
        self._classes: dict[str, JsonClass] = {}

    def find(self, form: str) -> Match | None:
        """The option that a written form means, or None.

        Args:
            form: With or without leading dashes, `_` or `-`, short, negative, or with dotted JSON keys.
        """
        bare, *keys = form.lstrip("-").split(".")
        for spelling in (bare, bare.replace("_", "-")):
            if spelling in self._forms:
                name, negated = self._forms[spelling]
                return Match(self.options[name], negated, tuple(keys), exact=spelling == bare)
        return Match(self.options["optimization-level"]) if re.fullmatch("O[0-3]?", bare) else None

    def json_class(self, name: str) -> JsonClass:
        """The keys of a JSON class.

        Args:
            name: An option's `json_class`, or a class named in a key's type.

        Raises:
            KeyError: This release has no such class.
        """
        if name not in self._classes:
            self._classes[name] = self._json_class(name)
        return self._classes[name]

    def _json_class(self, name: str) -> JsonClass:
        entries = _read("classes")
        row = _fold(entries[name]["rows"], self.release)
        if row is None:
            raise KeyError(name)
        prefix = f"{name}."
        lives = {
            key.removeprefix(prefix): entry["rows"]
            for key, entry in entries.items()
            if key.startswith(prefix)
        }
        rows = {key: _fold(history, self.release) for key, history in lives.items()}
        keys = {key: _json_key(key, row) for key, row in rows.items() if row is not None}
        return JsonClass(name=name, keys=keys, checked=row.get("checked", False), open=row.get("open", False))

    @property
    def variables(self) -> dict[str, Variable]:
        """Every environment variable that this release reads, by name."""
        lives = _read("variables")
        rows = {name: _fold(life["rows"], self.release) for name, life in lives.items()}
        return {name: _variable(name, row, lives[name]) for name, row in rows.items() if row is not None}

    def variable(self, name: str) -> Variable | None:
        """The environment variable of that name, or None."""
        life = _read("variables").get(name)
        row = _fold(life["rows"], self.release) if life else None
        return _variable(name, row, life) if life and row is not None else None

    def near(self, form: str, count: int = 3) -> tuple[str, ...]:
        """Option names that a mistyped form may have meant, the nearest first."""
        from difflib import get_close_matches  # noqa: PLC0415 - only a wrong spec pays for it

        bare = form.lstrip("-").replace("_", "-").split(".")[0]
        spellings = get_close_matches(bare, self._forms, n=count * 2, cutoff=0.6)
        names = dict.fromkeys(self._forms[spelling][0] for spelling in spellings)
        return tuple(names)[:count]

    def search(self, word: str) -> tuple[Option, ...]:
        """Options whose name, group, choices or summary has the word; hits in a name come first."""
        needle = word.lower().lstrip("-").replace("_", "-")
        ranks = ((_rank(option, needle), option.name, option) for option in self.options.values())
        hits = sorted((rank, name, option) for rank, name, option in ranks if rank is not None)
        return tuple(option for _, _, option in hits)


def load(release: str) -> Catalog:
    """The catalog of a release.

    Args:
        release: Such as `0.32`, `0.32.0` or `v0.32.1`; patch releases of one minor have the same options.

    Raises:
        UsageError: There is no catalog for it; `nearest` names the one that comes closest.
    """
    minor = minor_of(release)
    if minor not in VERSIONS:
        raise UsageError(f"no catalog for vLLM {release}", f"known are {RELEASES[0]} to {RELEASES[-1]}")
    return _load(minor)


def version(release: str) -> tuple[int, ...]:
    """A release as numbers that compare."""
    return tuple(int(part) for part in release.split("."))


def minor_of(version: str) -> str:
    """`0.32` for `0.32.0`, `v0.32.1rc2` and the like; the text itself where it is no version."""
    found = re.match(r"v?(\d+\.\d+)(?!\d)", version)
    return found[1] if found else version


def nearest(release: str) -> str:
    """The known release that comes closest to any version; the newest for text that is none."""
    found = re.match(r"v?(\d+)\.(\d+)", release)
    if not found:
        return RELEASES[-1]
    wanted = (int(found[1]), int(found[2]))
    return max((r for r in RELEASES if version(r) <= wanted), key=version, default=RELEASES[0])


def life(form: str) -> Life | None:
    """Which releases take a written form of an option; None for what no release ever took.

    Args:
        form: As for `Catalog.find`; the releases are those in which this very spelling is taken.
    """
    bare = form.lstrip("-").replace("_", "-").split(".")[0]
    having = [(release, match) for release in RELEASES if (match := load(release).find(form))]
    if not having:
        return _gone(bare, _read("removed")["options"])
    match = having[-1][1]
    use = f"`{match.option.name} = false`" if match.negated else match.option.replacement
    return _life(match.option.name, tuple(release for release, _ in having), use)


def key_life(json_class: str, key: str) -> Life | None:
    """Which releases have a key in a JSON class; None for one that none has."""
    entry = _read("classes").get(f"{json_class}.{key}")
    return _life(key, _having(entry["rows"]), entry.get("use", "")) if entry else None


def variable_life(name: str) -> Life | None:
    """Which releases read an environment variable; None for a name that none ever read."""
    entry = _read("variables").get(name)
    if entry is None:
        return _gone(name, _read("removed")["variables"])
    return _life(name, _having(entry["rows"]), entry.get("use", ""))


def _life(name: str, releases: tuple[str, ...], replacement: str) -> Life:
    later = RELEASES[RELEASES.index(releases[-1]) + 1 :]
    return Life(name=name, releases=releases, gone=later[0] if later else None, replacement=replacement)


def _gone(name: str, rows: dict[str, _Row]) -> Life | None:
    row = rows.get(name)
    return Life(name=name, releases=(), gone=row["gone"], replacement=row.get("use", "")) if row else None


def _having(history: _History) -> tuple[str, ...]:
    return tuple(release for release in RELEASES if _fold(history, release) is not None)


@cache
def _load(release: str) -> Catalog:
    return Catalog(release)


@cache
def _read(name: str) -> dict[str, Any]:
    path = Path(__file__).parent / "data" / f"{name}.json"
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def _fold(history: _History, release: str) -> _Row | None:
    """The row as a release has it; None where it has none."""
    row: _Row | None = None
    wanted = RELEASES.index(release)
    for since, change in history:
        if RELEASES.index(since) > wanted:
            break
        row = None if change is None else {**(row or {}), **change}
    return row and {key: value for key, value in row.items() if value is not None}


def _forms(rows: dict[str, _Row]) -> dict[str, tuple[str, bool]]:
    """Every spelling without its dashes, with the option's name and whether it negates."""
    forms: dict[str, tuple[str, bool]] = {}
    for name, row in rows.items():
        forms.update((flag.lstrip("-"), (name, False)) for flag in row["flags"])
        forms.update((flag.lstrip("-"), (name, True)) for flag in row.get("negative", ()))
    return forms


def _option(name: str, row: _Row, entry: _Row) -> Option:
    fields = {key: value for key, value in row.items() if key not in _BOUNDS}
    for key in fields.keys() & _TUPLES:
        fields[key] = tuple(fields[key])
    return Option(
        name=name,
        bounds=_bounds({**entry.get("limits", {}), **row}),
        summary=entry["summary"],
        replacement=entry.get("use", ""),
        **fields,
        **_span(entry["rows"]),
    )


def _span(history: _History) -> dict[str, Any]:
    """The first and last release of a row, and those between in which it changed."""
    gone = history[-1][1] is None
    until = RELEASES[RELEASES.index(history[-1][0]) - 1] if gone else None
    changed = tuple(release for release, change in history[1:] if change is not None)
    return {"since": history[0][0], "changed": changed, "until": until}


def _bounds(row: _Row) -> Bounds:
    return Bounds(*(row.get(key) for key in _BOUNDS))


def _json_key(name: str, row: _Row) -> JsonKey:
    return JsonKey(
        name=name,
        type=row["type"],
        choices=tuple(row.get("choices", ())),
        any_case=row.get("any_case", False),
        folds=row.get("folds", False),
        bounds=_bounds(row),
        default=row.get("default"),
        required=row.get("required", False),
    )


def _variable(name: str, row: _Row, life: _Row) -> Variable:
    span = _span(life["rows"])
    return Variable(
        name=name,
        type=row["type"],
        default=row.get("default", ""),
        choices=tuple(row.get("choices", ())),
        any_case=row.get("any_case", False),
        secret=row.get("secret", False),
        deprecated=row.get("deprecated", False),
        replacement=life.get("use", ""),
        since=span["since"],
        until=span["until"],
        summary=life.get("summary", ""),
    )


def _rank(option: Option, needle: str) -> int | None:
    """How good a hit is, 0 being the best; None for no hit."""
    forms = [flag.lstrip("-") for flag in (*option.flags, *option.negative)]
    if needle in forms:
        return 0
    if option.name.startswith(needle):
        return 1
    if any(needle in form for form in forms):
        return 2
    words = " ".join((option.summary, option.group, *map(str, option.choices), *map(str, option.suggestions)))
    return 3 if needle in words.lower().replace("_", "-") else None
