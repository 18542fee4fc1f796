"""Option tables for one release: right, nearly right, and wrong."""


# ruff: noqa: E501 - a list of oddities reads best on few lines

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from quadgen.vllm import names
from quadgen.vllm.shapes import Shape, parse_type

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.option import JsonKey, Option

# Never put into a table: quadgen or the container decides these, or their value must name a real thing.
LEFT_OUT = frozenset({"config", "model", "chat-template"})
TEXTS = (
    "a",
    "some text",
    "x/y",
    "naïve",
    "日本",
    "it's",
    'say "hi"',
    "a\\b",
    "a\nb",
    "a,b",
    "a=b",
    "1",
    "{x",
    "%h",
    "$HOME",
)
# Paths that vLLM would import, so that only real ones could be right.
IMPORTS = frozenset({"inductor_passes"})


class SpecFloat(float):
    """A float that remembers how the spec spelled it, as the loader's does."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Read the text as Python's own float does."""
        value = super().__new__(cls, text)
        value.text = text
        return value


@dataclass
class Tables:
    """A source of option tables.

    Args:
        catalog: Of the release.
        chance: Where its choices come from; the same seed gives the same tables.
    """

    catalog: Catalog
    chance: random.Random

    def __post_init__(self) -> None:
        self.options = [option for name, option in self.catalog.options.items() if name not in LEFT_OUT]
        self.json = [option for option in self.options if option.json_class]

    def table(self) -> dict[str, Any]:
        """One table: half of them meant to be right, the rest with one or two changes."""
        table: dict[str, Any] = {}
        for option in self.chance.sample(self.options, self.chance.randint(1, 7)):
            table[option.name] = self.value(option)
        if self.chance.random() < 0.4:
            option = self.chance.choice(self.json)
            table[option.name] = self.value(option)
        if self.chance.random() < 0.45:
            for _ in range(self.chance.choice((1, 1, 2))):
                self.change(table)
        return table

    def value(self, option: Option) -> Any:
        """A value that the option should take."""
        if option.repeats:
            return [self.chance.choice(("a.b", "c.D")) for _ in range(self.chance.randint(1, 2))]
        return getattr(self, "_" + option.kind.replace("-", "_"))(option)

    def _flag(self, _option: Option) -> bool:
        return self.chance.random() < 0.7

    _boolean = _flag

    def _int(self, option: Option) -> Any:
        if option.choices:
            return self.chance.choice(option.choices)
        low = int(option.bounds.ge if option.bounds.ge is not None else option.bounds.gt or 0)
        return self.chance.choice((low + 1, low + 7, low + 64, 1024))

    def _float(self, option: Option) -> Any:
        if option.bounds.le == 1 or option.bounds.lt == 1:
            return SpecFloat(self.chance.choice(("0.5", "0.90", "1e-1", "0.25")))
        return self.chance.choice((1, 4, SpecFloat("2.50"), SpecFloat("1e1"), SpecFloat("0.75")))

    def _text(self, option: Option) -> Any:
        kind = NAMED_TEXT.get(option.name)
        if kind:
            return self.chance.choice(names.known(kind, self.catalog.release))
        if option.suggestions:
            return self.chance.choice(option.suggestions)
        return self.chance.choice(TEXTS)

    def _choice(self, option: Option) -> Any:
        return self.chance.choice(option.choices)

    def _size(self, _option: Option) -> Any:
        return self.chance.choice((4096, 8192, "32k", "16K", "2.5k", "1M", "48G"))

    def _size_or_auto(self, option: Option) -> Any:
        return self.chance.choice((self._size(option), "auto", -1, "AUTO"))

    def _level(self, _option: Option) -> Any:
        return self.chance.choice((0, 1, 2, 3, "2"))

    def _text_list(self, _option: Option) -> Any:
        return [self.chance.choice(TEXTS) for _ in range(self.chance.randint(1, 3))]

    def _int_list(self, _option: Option) -> Any:
        return sorted({self.chance.choice((1, 2, 4, 8, 16)) for _ in range(self.chance.randint(1, 3))})

    def _choice_list(self, option: Option) -> Any:
        return [self.chance.choice(option.choices)]

    def _lora(self, _option: Option) -> Any:
        modules = (
            "sql=/lora/sql",
            {"name": "a", "path": "/lora/a"},
            {"name": "b", "path": "p", "base_model_name": "m"},
        )
        return [self.chance.choice(modules) for _ in range(self.chance.randint(1, 2))]

    def _json(self, option: Option) -> Any:
        if option.name in {"allowed-origins", "allowed-methods", "allowed-headers"}:
            return ["*"]
        if option.json_class:
            return self.object(option.json_class)
        return self.chance.choice(({}, {"a": 1}, {"x": {"y": [1, SpecFloat("2.50"), "z"]}, "b": True}))

    def _json_or_text(self, _option: Option) -> Any:
        return self.chance.choice(("cpu", {"a": 1}, {"cuda": "cpu"}, {}))

    def object(self, name: str) -> dict[str, Any]:
        """An object of a JSON class with some of its keys."""
        keys = list(self.catalog.json_class(name).keys.values())
        chosen = self.chance.sample(keys, min(len(keys), self.chance.choice((0, 1, 1, 2, 3))))
        chosen += [key for key in keys if key.required and key not in chosen]
        return {key.name: self.part(key) for key in chosen if key.name not in IMPORTS}

    def part(self, key: JsonKey) -> Any:
        """A value for one key of a JSON class."""
        special = SPECIAL_PARTS.get(key.name)
        if special:
            return special(self)
        return self._typed(parse_type(key.type, key.choices, any_case=key.any_case), key)

    def _typed(self, shape: Shape, key: JsonKey) -> Any:
        if shape.kind == "union":
            return self._typed(self.chance.choice([part for part in shape.inner if part.kind != "none"]), key)
        if shape.kind == "literal":
            value = self.chance.choice(shape.values)
            return (
                value.lower()
                if shape.any_case and isinstance(value, str) and self.chance.random() < 0.3
                else value
            )
        if shape.kind in {"list", "tuple"}:
            count = len(shape.inner) if shape.kind == "tuple" else self.chance.randint(0, 2)
            inner = shape.inner if shape.kind == "tuple" else shape.inner * count
            return [self._typed(part, key) for part in inner]
        if shape.kind == "dict":
            inner = shape.inner[1] if shape.inner else Shape("any")
            return {
                word: self._typed(inner, key)
                for word in self.chance.sample(("k", "l"), self.chance.randint(0, 1))
            }
        if shape.kind == "named":
            return self._named(shape.name)
        return self._scalar(shape.kind, key)

    def _named(self, name: str) -> Any:
        members = NAMED_TYPES.get(name)
        if members:
            return self.chance.choice(members(self.catalog.release))
        return self.object(name)

    def _scalar(self, kind: str, key: JsonKey) -> Any:
        if kind == "bool":
            return self.chance.random() < 0.5
        if kind == "int":
            low = int(key.bounds.ge if key.bounds.ge is not None else key.bounds.gt or 0)
            return self.chance.choice((low + 1, low + 4, low + 100))
        if kind == "float":
            low = key.bounds.ge or key.bounds.gt or 0
            return self.chance.choice((SpecFloat("0.50"), low + 0.25, 1))
        return (
            self.chance.choice(TEXTS) if kind == "text" else self.chance.choice((1, "x", None, [1], {"q": 1}))
        )

    # What makes a table nearly right, or wrong.

    def change(self, table: dict[str, Any]) -> None:
        """One change to one entry."""
        self.chance.choice(CHANGES)(self, table)

    def entry(self, table: dict[str, Any]) -> tuple[str, Option | None]:
        """One entry of the table, by its key, and its option where the key still names one."""
        name = self.chance.choice(list(table)) if table else self.chance.choice(self.options).name
        table.setdefault(name, self.chance.choice((1, "x", True)))
        match = self.catalog.find(name)
        return name, match.option if match else None


def _other_type(tables: Tables, table: dict[str, Any]) -> None:
    name, _ = tables.entry(table)
    table[name] = tables.chance.choice(
        (True, False, 0, -1, 3, SpecFloat("1.5"), SpecFloat("8.0"), "", "None", "none", "x", "-x", "-1", "-0.5", "12", " 7 ", "1_000",
         "true", [], ["a"], ["a", "b"], [1, 2], [-1, 3], ["-a", "b"], [SpecFloat("-0.5"), 1], {}, {"a": 1}, SpecFloat("inf"), SpecFloat("nan"), "{}", '{"a":1}', "[1]", "null",
         "1k", "1.5K", "1.5k", "48GB", "auto", "0x10", "--enforce-eager", "-O3", "--config", "a b", "3 --enforce-eager", "{'a': 1}", '"fp8"', "1e3", "{bad}", "\ufeff")
    )  # fmt: skip


def _respelled(tables: Tables, table: dict[str, Any]) -> None:
    """Another spelling of the name; the order of the table stays."""
    name, option = tables.entry(table)
    if option is None:
        return
    forms = [flag.lstrip("-") for flag in option.flags] + [name.replace("-", "_")]
    forms += [form.lstrip("-") for form in option.negative]
    _rename(table, name, tables.chance.choice(forms))


def _misspelled(tables: Tables, table: dict[str, Any]) -> None:
    name, _ = tables.entry(table)
    at = tables.chance.randrange(len(name))
    kinds = (
        name[:at],
        name[:at] + name[at + 1 :],
        name + "s",
        name.upper(),
        "--" + name,
        name + "=1",
        name[: max(3, len(name) - 4)],
    )
    _rename(table, name, tables.chance.choice(kinds) or "x")


def _foreign(tables: Tables, table: dict[str, Any]) -> None:
    table[tables.chance.choice(FOREIGN)] = tables.chance.choice((1, True, "x", {"a": 1}))


def _twice(tables: Tables, table: dict[str, Any]) -> None:
    name, option = tables.entry(table)
    if option is not None:
        forms = [flag.lstrip("-") for flag in option.flags] + [name.replace("-", "_")]
        other = tables.chance.choice(forms)
        table.setdefault(other, tables.value(option))


def _dotted(tables: Tables, table: dict[str, Any]) -> None:
    """One part of a JSON option by its dotted name, beside its table or instead of it."""
    option = tables.chance.choice(tables.json)
    parts = tables.object(option.json_class or "")
    if tables.chance.random() < 0.5:
        table.pop(option.name, None)
    for key, value in parts.items():
        table[f"{option.name}.{key}"] = value


def _dotted_text(tables: Tables, table: dict[str, Any]) -> None:
    name, _ = tables.entry(table)
    table[f"{name}.part"] = table.pop(name)


def _json_as_text(tables: Tables, table: dict[str, Any]) -> None:
    option = tables.chance.choice(tables.json)
    text = json.dumps(tables.object(option.json_class or ""))
    changes = (
        text,
        text,
        f"'{text}'",
        text.replace('"', "'"),
        text[:-1],
        text.replace('"', '\\"'),
        f" {text} ",
    )
    table[option.name] = tables.chance.choice(changes)


def _lax_part(tables: Tables, table: dict[str, Any]) -> None:
    """A part of a JSON option whose value pydantic may convert."""
    option = tables.chance.choice(tables.json)
    parts = tables.object(option.json_class or "")
    for key in parts:
        if tables.chance.random() < 0.7:
            parts[key] = tables.chance.choice(
                ("true", "3", "3.0", " 3 ", 1, 0, 1.0, 2.5, True, "YES", None, "x", [], ["1"], {}, "1e3", "AUTO", "Triton", SpecFloat("nan"), -1, "none")
            )  # fmt: skip
    if tables.chance.random() < 0.2:
        parts[tables.chance.choice(("modee", "no-such", "target_model_config", "a"))] = 1
    table[option.name] = parts


def _out_of_bounds(tables: Tables, table: dict[str, Any]) -> None:
    bounded = [option for option in tables.options if option.bounds and option.kind in {"int", "float"}]
    option = tables.chance.choice(bounded)
    table[option.name] = tables.chance.choice((-5, 0, 10**6))


def _rename(table: dict[str, Any], old: str, new: str) -> None:
    entries = list(table.items())
    table.clear()
    table.update((new if name == old else name, value) for name, value in entries)


CHANGES: tuple[Callable[[Tables, dict[str, Any]], None], ...] = (
    _other_type,
    _other_type,
    _other_type,
    _respelled,
    _respelled,
    _misspelled,
    _foreign,
    _twice,
    _dotted,
    _dotted,
    _dotted_text,
    _json_as_text,
    _json_as_text,
    _lax_part,
    _lax_part,
    _lax_part,
    _out_of_bounds,
)
FOREIGN = (
    "swap-space", "device", "task", "rope-scaling", "guided-decoding-backend", "num-scheduler-steps", "ctx-size", "tp-size",
    "calculate-kv-scales", "monokernel", "max-num-partial-prefills", "enable-scale-out", "disable-log-requests",
    "tensor-parallel", "max-num", "p", "O", "x-y.z", "help", "no-such-option", "enable", "kv-cache", "v", "h",
)  # fmt: skip
NAMED_TEXT: dict[str, names.NameKind] = {
    "attention-backend": "attention-backend",
    "mamba-backend": "mamba-backend",
    "mm-encoder-attn-backend": "attention-backend",
    "reasoning-parser": "reasoning-parser",
    "tool-call-parser": "tool-call-parser",
    "quantization": "quantization",
    "load-format": "load-format",
}
NAMED_TYPES: dict[str, Callable[[str], tuple[Any, ...]]] = {
    "QuantSpec": lambda release: (*names.known("quantization-shorthand", release), "x", {}),
    "QuantKey": lambda release: names.known("quantization-key", release) or ("x",),
}
SPECIAL_PARTS: dict[str, Callable[[Tables], Any]] = {
    "custom_ops": lambda tables: tables.chance.choice(
        (["all"], ["none", "+rms_norm"], ["+a", "-a"], ["x"], ["all", "none"], [""])
    ),
    "backend_per_kind": lambda tables: tables.chance.choice(
        ({"full_attention": "flash_attn"}, {"x": "FLASH_ATTN"}, {})
    ),
    "targets": lambda tables: tables.chance.choice(
        ({"re:a.*": "mxfp8"}, {"x": "nope"}, {"re:(": "mxfp8"}, {})
    ),
}
