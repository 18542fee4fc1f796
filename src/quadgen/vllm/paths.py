"""Files and folders that options name: what must be mounted for the server to find them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.vllm.argv import Arguments


@dataclass(frozen=True, slots=True)
class PathUse:
    """One path that vLLM opens inside the container.

    Args:
        option: The option that names it.
        place: Where the spec names it, relative to the service.
        path: The absolute path.
        writes: Whether vLLM writes there.
    """

    option: str
    place: tuple[str | int, ...]
    path: str
    writes: bool = False


# Options whose text is a path, or may be one.
_PATHS: Final = {
    "chat-template": False,
    "ssl-keyfile": False,
    "ssl-certfile": False,
    "ssl-ca-certs": False,
    "tool-parser-plugin": False,
    "reasoning-parser-plugin": False,
    "tokenizer": False,
    "hf-config-path": False,
    "generation-config": False,
    "spec-model": False,
    "log-config-file": False,
    "allowed-local-media-path": False,
    "mm-encoder-fp8-scale-path": False,
    "mm-encoder-fp8-scale-save-path": True,
    "download-dir": True,
    "uds": True,
}
# The same for keys of JSON options.
_JSON_PATHS: Final = {
    ("speculative-config", "model"): False,
    ("logging-config", "pylogging_config_file"): False,
    ("profiler-config", "torch_profiler_dir"): True,
    ("profiler-config", "proton_profiler_dir"): True,
    ("compilation-config", "debug_dump_path"): True,
    ("compilation-config", "cache_dir"): True,
    ("watchdog-config", "dump_dir"): True,
}


def container_paths(arguments: Arguments) -> Iterator[PathUse]:
    """Every absolute path among the options.

    Args:
        arguments: The service's options, read.
    """
    for name, writes in _PATHS.items():
        value = arguments.values.get(name)
        if _is_path(value):
            yield PathUse(name, ("serve", arguments.keys[name]), str(value), writes)
    for (name, key), writes in _JSON_PATHS.items():
        table = arguments.values.get(name)
        if isinstance(table, dict) and _is_path(table.get(key)):
            yield PathUse(name, ("serve", arguments.keys[name], key), table[key], writes)
    for index, module in enumerate(arguments.values.get("lora-modules") or ()):
        if _is_path(module["path"]):
            yield PathUse("lora-modules", ("serve", arguments.keys["lora-modules"], index), module["path"])


def _is_path(value: Any) -> bool:
    """An absolute path; text with a brace or a line end is a template itself (vLLM's renderers)."""
    return isinstance(value, str) and value.startswith("/") and not set("{}\n").intersection(value)
