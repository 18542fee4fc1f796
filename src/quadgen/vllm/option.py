"""The rows of a catalog: one option, one class of JSON keys, one environment variable."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

# flag         present or absent; there is no negative form and no value
# boolean      --x or its negative form; never a value
# int, float   what Python's int() and float() take
# text         any text; `suggestions` are the values that vLLM itself knows
# choice       one of `choices`, which the parser enforces
# size         an int, or a number with one of k m g t (1000s) or K M G T (1024s)
# size-or-auto the same, or `auto`, or -1
# json         a JSON value; an object of `json_class` where that is set
# json-or-text a JSON object when it is in braces, else text
# lora         words `NAME=PATH`, or JSON objects with name and path
# level        an optimisation level: 0 to 3, also written -O3
# *-list       several words of that kind
Kind: TypeAlias = Literal[
    "flag",
    "boolean",
    "int",
    "float",
    "text",
    "choice",
    "size",
    "size-or-auto",
    "json",
    "json-or-text",
    "lora",
    "level",
    "text-list",
    "int-list",
    "choice-list",
]

# How many words follow the option: none, one, one or none, one or more.
Arity: TypeAlias = Literal["0", "1", "?", "+"]


class Bounds(NamedTuple):
    """The numbers that vLLM takes; most are enforced only when the engine starts.

    Args:
        ge: Lowest number taken.
        gt: The number must be above this.
        le: Highest number taken.
        lt: The number must be below this.
    """

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    def __bool__(self) -> bool:
        return self != Bounds()

    def allow(self, number: float) -> bool:
        """Whether the number is inside; NaN never is."""
        return (
            (self.ge is None or number >= self.ge)
            and (self.gt is None or number > self.gt)
            and (self.le is None or number <= self.le)
            and (self.lt is None or number < self.lt)
        )

    def __str__(self) -> str:
        words = (("at least", self.ge), ("above", self.gt), ("at most", self.le), ("below", self.lt))
        return " and ".join(f"{word} {limit:g}" for word, limit in words if limit is not None)


class Option(NamedTuple):
    """One `vllm serve` option as one release takes it.

    Args:
        name: Its own name, without dashes.
        dest: Where vLLM's parser puts the value.
        flags: Every positive spelling that the parser takes; the canonical one first.
        kind: What the value is.
        arity: How many words follow.
        group: The heading in `vllm serve --help=all`.
        since: First release with it; the oldest catalog's release also stands for "before".
        negative: Every negative spelling of a boolean, the one that most releases take first.
        hidden: Those of `flags` and `negative` that `--help` does not show.
        repeats: Given twice, both values count; for every other option the last one wins.
        folds: Text is made lower case and `-` read as `_` before `choices` are looked at.
        choices: The values that the parser takes, and no others; empty for no such limit.
        suggestions: The values that this release knows where the parser takes any text.
        late_choices: The values that the engine takes at start, and no others; the parser takes any text.
        any_case: `late_choices` are names that may be written in any case.
        bounds: Limits of a number.
        default: vLLM's own; None also stands for "vLLM decides at start".
        accepts_none: Empty text or the word `None` means unset.
        json_class: Whose keys a JSON object has.
        secret: The value is one that nobody but its owner may see.
        deprecated: vLLM warns about it and will drop it.
        replacement: What to write instead of a deprecated or removed option.
        renders: Whether `vllm launch render` uses it; its parser takes every option.
        changed: The releases in which its row became different.
        until: Last release with it; None while the newest catalog has it.
        summary: What it does and when to use it, in one line.
    """

    name: str
    dest: str
    flags: tuple[str, ...]
    kind: Kind
    arity: Arity
    group: str
    since: str
    negative: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    repeats: bool = False
    folds: bool = False
    choices: tuple[str | int, ...] = ()
    suggestions: tuple[str | int, ...] = ()
    late_choices: tuple[str | int, ...] = ()
    any_case: bool = False
    bounds: Bounds = Bounds()
    default: Any = None
    accepts_none: bool = False
    json_class: str | None = None
    secret: bool = False
    deprecated: bool = False
    replacement: str = ""
    renders: bool = False
    changed: tuple[str, ...] = ()
    until: str | None = None
    summary: str = ""

    @property
    def is_list(self) -> bool:
        """Whether several words may follow."""
        return self.arity == "+"

    @property
    def takes_json(self) -> bool:
        """Whether a table of the spec can be its value, and dotted keys name parts of it."""
        return self.kind in ("json", "json-or-text")


class JsonKey(NamedTuple):
    """One key of a JSON option.

    Args:
        name: The key, with underscores.
        type: What it takes, as alternatives joined by ` | `: `bool`, `int`, `float`, `text`, `choice` (one of
            `choices`), `none`, `any`, a class name, `list[...]`, `tuple[...]`, `dict[..., ...]`.
        choices: The values that `choice` stands for.
        any_case: Text among `choices` may be written in any case.
        folds: Text is made lower case and `-` read as `_` before `choices` are looked at.
        bounds: Limits of a number.
        default: vLLM's own; None where vLLM computes it.
        required: Whether an object without it is refused.
    """

    name: str
    type: str
    choices: tuple[str | int, ...] = ()
    any_case: bool = False
    folds: bool = False
    bounds: Bounds = Bounds()
    default: Any = None
    required: bool = False

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The parts of `type`, split at the outermost ` | `."""
        parts, depth = [""], 0
        for char in self.type:
            depth += (char == "[") - (char == "]")
            if char == "|" and not depth:
                parts.append("")
            else:
                parts[-1] += char
        return tuple(part.strip() for part in parts)


class JsonClass(NamedTuple):
    """The keys of one class of JSON objects in one release.

    Args:
        name: vLLM's name of the class.
        keys: Every key a user may give, by name.
        checked: The parser itself refuses what the class does not take; where not, the engine does at start.
        open: Keys that it does not have are let through without a word.
    """

    name: str
    keys: dict[str, JsonKey]
    checked: bool = False
    open: bool = False


class Variable(NamedTuple):
    """One environment variable that vLLM reads.

    Args:
        name: Its name.
        type: vLLM's Python type of it, as text.
        since: First release with it; the oldest catalog's release also stands for "before".
        default: vLLM's default as Python text; empty where none is written down.
        choices: The values that vLLM takes; empty for no such limit.
        any_case: `choices` may be written in any case.
        secret: The value is one that nobody but its owner may see.
        deprecated: vLLM warns about it and will drop it.
        replacement: What to use instead of a deprecated or removed variable.
        until: Last release with it; None while the newest catalog has it.
        summary: What it does and when to set it, in one line; empty for vLLM's inner matters.
    """

    name: str
    type: str
    since: str
    default: str = ""
    choices: tuple[str, ...] = ()
    any_case: bool = False
    secret: bool = False
    deprecated: bool = False
    replacement: str = ""
    until: str | None = None
    summary: str = ""


class Life(NamedTuple):
    """Which releases have a name.

    Args:
        name: The own name of the option, JSON key or variable.
        releases: The catalogs that have it; empty for what was gone before the oldest of them.
        gone: First release without it, which may be older than every catalog; None while the newest has it.
        replacement: What to use instead, empty where there is nothing.
    """

    name: str
    releases: tuple[str, ...]
    gone: str | None = None
    replacement: str = ""
