"""Which options `vllm launch render` uses, read from the functions that it is made of.

Its parser takes every option of `vllm serve`; what no code looks at is ignored without a word.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Where it starts; from there on, every function that is handed `args` counts.
START = ("run_launch_fastapi", "build_and_serve_renderer")
# Methods of EngineArgs that it calls.
ENGINE = ("create_model_config", "create_logging_config", "create_structured_outputs_config")


def used(source: Path) -> set[str]:
    """The destinations of the options that it looks at."""
    trees = [ast.parse(path.read_text()) for path in sorted((source / "vllm" / "entrypoints").rglob("*.py"))]
    functions = _functions(trees)
    found: set[str] = set()
    waiting, seen = list(START), set(START)
    while waiting:
        for function in functions.get(waiting.pop(), ()):
            found |= _attributes(function, "args")
            called = _handed_args(function) - seen
            seen |= called
            waiting += sorted(called)
    engine = _functions([ast.parse((source / "vllm" / "engine" / "arg_utils.py").read_text())])
    return found.union(*(_attributes(method, "self") for name in ENGINE for method in engine.get(name, ())))


def _functions(trees: list[ast.Module]) -> dict[str, list[ast.AST]]:
    found: dict[str, list[ast.AST]] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.setdefault(node.name, []).append(node)
    return found


def _handed_args(function: ast.AST) -> set[str]:
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    handed = [call for call in calls if "args" in map(ast.unparse, _given(call))]
    return {ast.unparse(call.func).rpartition(".")[2] for call in handed}


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _attributes(function: ast.AST, subject: str) -> set[str]:
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == subject:
            found.add(node.attr)
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "getattr"
            and ast.unparse(node.args[0]) == subject
        ):
            found.add(ast.unparse(node.args[1]).strip("'\""))
    return found
