"""Answers with the real parser of one vLLM release: one JSON line in, one out.

    python scripts/vllmdiff/oracle.py SOURCE VERSION

A line in is `{"argv": [...], "dests": [...]}`: the words behind `vllm serve`, and the destinations whose
values are wanted. A line out is `{"values": {...}}`, or `{"stage": "parse" or "validate", "error": "..."}`.
The interpreter is one with vLLM's requirements; SOURCE holds the release's Python files. Both come from
`scripts/catalog`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import io
import json
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from vllmdump import tree  # noqa: E402


def main() -> None:
    source, version = Path(sys.argv[1]), sys.argv[2]
    out, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    tree.enter(source, version)
    command_line = tree.command_line_module(source)
    parser = _parser(command_line)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(_answer(parser, command_line, request)), file=out, flush=True)


def _parser(command_line: Any) -> Any:
    """The parser as `vllm` itself builds it: `serve` is a subcommand, its words go through both."""
    from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: PLC0415

    top = FlexibleArgumentParser(prog="vllm")
    top.add_argument("-v", "--version", action="version", version="0")
    serve = top.add_subparsers(required=False, dest="subparser").add_parser("serve")
    command_line.make_arg_parser(serve)
    return top


def _answer(parser: Any, command_line: Any, request: dict[str, Any]) -> dict[str, Any]:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            arguments = parser.parse_args(["serve", *request["argv"]])
    except SystemExit:
        return {"stage": "parse", "error": said.getvalue().strip()[-400:]}
    except Exception as error:  # noqa: BLE001 - vLLM leaves some errors of its own uncaught here
        return {"stage": "parse", "error": f"{type(error).__name__}: {error}"[:400]}
    values = {dest: plain(getattr(arguments, dest, "absent")) for dest in request["dests"]}
    try:
        command_line.validate_parsed_serve_args(arguments)
    except Exception as error:  # noqa: BLE001 - the same
        return {"stage": "validate", "error": str(error)[:400]}
    return {"values": values}


def plain(value: Any) -> Any:
    """A parsed value as JSON; what has no plain form says so."""
    if isinstance(value, enum.Enum):
        return {"$enum": [value.name, str(value.value)]}
    if value is None or isinstance(value, (bool, str, int, float)):
        return value
    return _plain_container(value)


def _plain_container(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
        return {"$class": type(value).__name__, **{name: plain(getattr(value, name)) for name in fields}}
    return str(value) if isinstance(value, Path) else {"$other": type(value).__name__}


main()
