"""Many tables through both quadgen and one long-lived real parser."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from quadgen.vllm.catalog import load
from vllmdiff.tables import Tables
from vllmdiff.verdict import Question, Tally, ask
from vllmdump import source

ROOT = Path(__file__).resolve().parents[2]


class Parser:
    """The real parser of a release, in a process of its own.

    Args:
        version: Such as "0.33.0".
        sources: Where the Python files of releases are kept.
        python: An interpreter with vLLM's requirements.
    """

    def __init__(self, version: str, sources: Path, python: str) -> None:
        tree = source.fetch(version, sources)
        command = [python, str(ROOT / "scripts" / "vllmdiff" / "oracle.py"), str(tree), version]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate()

    def answer(self, question: Question) -> dict[str, Any]:
        """What the parser makes of the words of a question."""
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the parser has no pipes")
        request = {"argv": question.words, "dests": list(question.values)}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the parser died over {question.words}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def environment() -> str:
    """The interpreter that can import vLLM; `scripts/test-host vllm` makes it where there is none."""
    if not (found := sorted(ROOT.glob(".test-host/vllm-*/bin/python"))):
        subprocess.run([sys.executable, str(ROOT / "scripts" / "test-host"), "vllm"], check=True)
        found = sorted(ROOT.glob(".test-host/vllm-*/bin/python"))
    return str(found[-1])


def compare(version: str, *, count: int, seed: int, sources: Path, python: str | None = None) -> Tally:
    """The figures of a run.

    Args:
        version: Such as "0.33.0".
        count: How many tables.
        seed: The same seed gives the same tables.
        sources: Where the Python files of releases are kept; what is missing is downloaded.
        python: An interpreter with vLLM's requirements; None for the test host's.
    """
    tables = Tables(load(version), random.Random(seed))  # noqa: S311 - the same tables for the same seed
    tally = Tally(version)
    with Parser(version, sources, python or environment()) as parser:
        for _ in range(count):
            question = ask(tables.table(), version)
            tally.add(question, parser.answer(question))
    return tally
