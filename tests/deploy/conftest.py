from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from .machine import Box

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def quick_medium(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the tests the wait for a disk: a killed process loses nothing that the kernel has."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.fixture
def flat_box(tmp_path: Path) -> Box:
    """A machine whose Podman reads no sub-folders."""
    return Box(tmp_path, podman="4.6.1")
