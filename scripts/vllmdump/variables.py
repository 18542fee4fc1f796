"""The environment variables that vLLM reads, from the text of vllm/envs.py."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from vllmdump.plain import present

if TYPE_CHECKING:
    from pathlib import Path

SECRET = re.compile(r"API_KEY$|SECRET|ACCESS_KEY_ID|PASSWORD|_TOKEN$")
# Helpers of envs.py that check values against a list, and what they are given.
CHOOSERS = {"env_with_choices", "env_list_with_choices", "env_set_with_choices"}
PARAMETERS = ("env_name", "default", "choices", "case_sensitive")


def rows(source: Path) -> dict[str, dict[str, Any]]:
    """Each variable's row by name, sorted.

    A name that is only declared for type checkers is left out: vLLM does not read it.
    """
    tree = ast.parse((source / "vllm" / "envs.py").read_text())
    declared = _declared(tree)
    readers = _readers(tree)
    return {name: _row(name, readers[name], declared.get(name)) for name in sorted(readers)}


def _declared(tree: ast.Module) -> dict[str, ast.AnnAssign]:
    """Types and defaults, written for type checkers."""
    blocks = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    lines = [line for block in blocks for line in block.body if isinstance(line, ast.AnnAssign)]
    return {ast.unparse(line.target): line for line in lines}


def _readers(tree: ast.Module) -> dict[str, ast.expr]:
    """The expression that reads each variable."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        named = [ast.unparse(target) for target in targets if target is not None]
        value = getattr(node, "value", None)
        if "environment_variables" in named and isinstance(value, ast.Dict):
            return {
                str(ast.literal_eval(key)): item
                for key, item in zip(value.keys, value.values, strict=True)
                if key
            }
    raise LookupError("vllm/envs.py has no table environment_variables")


def _row(name: str, reader: ast.expr, declared: ast.AnnAssign | None) -> dict[str, Any]:
    default = declared.value if declared else None
    return present(
        {
            "type": ast.unparse(declared.annotation) if declared else "str | None",
            "default": ast.unparse(default) if default else "None",
            **_choices(reader),
            "secret": bool(SECRET.search(name)),
        }
    )


def _choices(reader: ast.expr) -> dict[str, Any]:
    """The values that are taken, where envs.py lists them."""
    calls = [node for node in ast.walk(reader) if isinstance(node, ast.Call)]
    for call in calls:
        if getattr(call.func, "id", "") in CHOOSERS:
            named = {keyword.arg: keyword.value for keyword in call.keywords}
            given = {**dict(zip(PARAMETERS, call.args, strict=False)), **named}
            values, case = given["choices"], given.get("case_sensitive")
            listed = ast.literal_eval(values) if isinstance(values, (ast.List, ast.Tuple)) else ()
            return {"choices": list(listed), "any_case": bool(case) and ast.literal_eval(case) is False}
    return {}
