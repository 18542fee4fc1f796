from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .machine import Box

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.fixture
def flat_box(tmp_path: Path) -> Box:
    """A machine whose Podman reads no sub-folders."""
    return Box(tmp_path, podman="4.6.1")
