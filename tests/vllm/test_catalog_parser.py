"""Whether the data is what the real parser says, asked now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.vllm
def test_the_real_parser_of_a_release_gives_the_same_rows() -> None:
    check = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "catalog"), "check", "0.32.0"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert check.returncode == 0, check.stderr + check.stdout
    assert check.stdout.startswith("0.32.0: the same, 316 options, 316 variables")
