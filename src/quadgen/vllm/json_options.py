"""The JSON options that a class of vLLM stands behind: their keys, types and values."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from quadgen.vllm import names
from quadgen.vllm.catalog import load
from quadgen.vllm.json_rules import broken_rules
from quadgen.vllm.reading import JsonProblem
from quadgen.vllm.shapes import ShapeError, coerce, listed, parse_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.option import JsonClass, JsonKey


# Keys that vLLM leaves open with null although their type does not say so (its `_skip_none_validation`).
_NULLABLE: Final = {
    "CompilationConfig": frozenset(
        {
            "mode",
            "cudagraph_mode",
            "max_cudagraph_capture_size",
            "use_inductor_graph_partition",
            "ir_enable_torch_wrap",
        }
    ),
    "PassConfig": frozenset(
        {
            "fuse_norm_quant",
            "fuse_act_quant",
            "fuse_attn_quant",
            "enable_sp",
            "fuse_gemm_comms",
            "fuse_allreduce_rms",
            "fuse_act_padding",
            "fuse_mla_dual_rms_norm",
            "fuse_rope_kvcache",
            "fuse_qk_norm_rope_kvcache",
            "enable_qk_norm_rope_fusion",
            "fuse_rope_kvcache_cat_mla",
        }
    ),
    "KernelConfig": frozenset({"enable_flashinfer_autotune", "enable_cutedsl_warmup", "enable_jit_warmup"}),
}

# Keys whose text vLLM makes lower case, with `_` for `-`, before it looks at the choices.
_FOLDED: Final = frozenset({"moe_backend", "linear_backend", "sparse_indexer_topk_backend"})

# JSON keys with a table: the kind of names it takes, and whether they are its values rather than its keys.
_NAME_TABLES: Final[dict[str, tuple[names.NameKind, bool]]] = {
    "backend_per_kind": ("kv-cache-kind", False),
    "targets": ("quantization-shorthand", True),
}

# A table of attention backends; vLLM turns each into upper case.
_ANY_CASE: Final = frozenset({"backend_per_kind"})

# The attention backends, for which "auto" means none in particular.
_AUTO: Final = frozenset({"backend", "attention_backend"})


@cache
def json_class(release: str, name: str) -> JsonClass:
    """A class of the release; most services ask for the same few again and again.

    Args:
        release: One of `catalog.RELEASES`.
        name: The class.

    Raises:
        KeyError: The release has no such class.
    """
    return load(release).json_class(name)


class ObjectReader:
    """Reads the object of one JSON option as vLLM's class does, and collects what is wrong with it."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.problems: list[JsonProblem] = []

    def read(self, name: str, value: Mapping[str, Any], path: tuple[str | int, ...] = ()) -> dict[str, Any]:
        """The object as vLLM sees it; what is wrong is added to `problems`.

        Args:
            name: The class.
            value: The keys that were given.
            path: Where the object sits below its option.
        """
        found = len(self.problems)
        shape = json_class(self._catalog.release, name)
        read: dict[str, Any] = {}
        for key, item in value.items():
            if key in shape.keys:
                self._read_key(name, shape.keys[key], item, (*path, key), read)
            elif not shape.open:
                self._unknown(shape, key, (*path, key))
        self._required(shape, read, path)
        if len(self.problems) == found:
            self._rules(shape, read, path)
        return read

    def _read_key(
        self, owner: str, key: JsonKey, item: Any, path: tuple[str | int, ...], read: dict[str, Any]
    ) -> None:
        if item is None and key.name in _NULLABLE.get(owner, ()):
            read[key.name] = None
            return
        try:
            read[key.name] = self._typed(owner, key, item, path)
        except ShapeError as error:
            self.problems.append(_type_problem(error, item, path))
            return
        if isinstance(read[key.name], (int, float)) and not isinstance(read[key.name], bool):
            self._bounds(key, read[key.name], path)

    def _typed(self, owner: str, key: JsonKey, item: Any, path: tuple[str | int, ...]) -> Any:
        if key.name in _FOLDED and isinstance(item, str):
            item = item.lower().replace("-", "_")
        if owner == "IrOpPriorityConfig" and isinstance(item, str):
            item = item.replace(" ", "").split(",")
        if key.name in _AUTO and "FLASH_ATTN" in key.choices and str(item).lower() == "auto":
            return None
        any_case = key.any_case or key.name in _ANY_CASE
        shape = parse_type(key.type, key.choices, any_case=any_case)
        read = coerce(shape, item, lambda name, inner: self._named(name, inner, path))
        self._entries(key.name, read)
        return read

    def _entries(self, name: str, read: Any) -> None:
        """The two tables whose keys or values must be names that vLLM knows."""
        if not isinstance(read, dict) or name not in _NAME_TABLES:
            return
        kind, of_values = _NAME_TABLES[name]
        known = names.known(kind, self._catalog.release)
        for key, value in read.items():
            if (value if of_values else key) not in known:
                raise ShapeError(listed(known), (key,) if of_values else (), choices=known)

    def _named(self, name: str, value: Any, path: tuple[str | int, ...]) -> Any:
        if name == "QuantKey":
            return _quant_key(value, self._catalog.release)
        if name == "QuantSpec" and isinstance(value, str):
            return _quant_shorthand(value, str(path[-1]), self._catalog.release)
        if not isinstance(value, dict):
            raise ShapeError("a table")
        return self.read(name, value, path)

    def _bounds(self, key: JsonKey, number: float, path: tuple[str | int, ...]) -> None:
        if not key.bounds.allow(number):
            self.problems.append(JsonProblem("json-bounds", path, f"{number} must be {key.bounds}"))

    def _unknown(self, shape: JsonClass, key: str, path: tuple[str | int, ...]) -> None:
        from difflib import get_close_matches  # noqa: PLC0415 - only a wrong spec pays for it

        near = get_close_matches(key.replace("-", "_"), shape.keys, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(sorted(shape.keys))}"
        self.problems.append(
            JsonProblem("json-key", path, f"vLLM {self._catalog.release} knows no such key", remedy)
        )

    def _required(self, shape: JsonClass, read: Mapping[str, Any], path: tuple[str | int, ...]) -> None:
        given = {str(problem.path[-1]) for problem in self.problems if problem.path} | set(read)
        for key in shape.keys.values():
            if key.required and key.name not in given:
                self.problems.append(JsonProblem("json-required", path, f"the key {key.name} is missing"))

    def _rules(self, shape: JsonClass, read: Mapping[str, Any], path: tuple[str | int, ...]) -> None:
        defaults = {key: row.default for key, row in shape.keys.items()}
        for rule in broken_rules(shape.name, {**defaults, **read}, read, self._catalog.release):
            self.problems.append(JsonProblem(rule.code, path, rule.message, rule.remedy))


def _type_problem(error: ShapeError, item: Any, path: tuple[str | int, ...]) -> JsonProblem:
    inner: Any = item
    for step in error.path:
        inner = inner[step]
    remedy = _nearest(inner, error.choices)
    return JsonProblem("json-type", (*path, *error.path), f"{_shown(inner)} must be {error.expected}", remedy)


def _nearest(value: Any, choices: tuple[Any, ...]) -> str:
    if not isinstance(value, str) or not choices:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 - only a wrong spec pays for it

    folded = {str(choice).lower(): str(choice) for choice in choices}
    near = get_close_matches(value.lower(), folded, n=1)
    return f"did you mean {folded[near[0]]}?" if near else ""


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    return str(value)


def _quant_key(value: Any, release: str) -> str:
    members = names.known("quantization-key", release)
    if value in members:
        return str(value)
    raise ShapeError(listed(members), choices=members)


# These two shorthands say nothing about linear layers (vllm/config/quantization.py).
_MOE_ONLY: Final = frozenset({"int8_per_channel_weight_only", "nvfp4_per_token"})


def _quant_shorthand(value: str, kind: str, release: str) -> str:
    shorthands = names.known("quantization-shorthand", release)
    if value in shorthands:
        if kind == "linear" and value in _MOE_ONLY:
            raise ShapeError("a scheme that covers linear layers")
        return value
    members = (*shorthands, *names.known("quantization-key", release))
    if value in members:
        return value
    raise ShapeError(listed(members), choices=members)
