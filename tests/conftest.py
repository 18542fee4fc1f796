"""What tests of several folders share."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from quadgen.spec import Source, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from quadgen.spec import Loaded


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the user's own folders and spec out of every test."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("QUADGEN_FILE", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def load_text(tmp_path: Path) -> Callable[[str], Loaded]:
    """Load a spec from its text."""

    def loader(text: str) -> Loaded:
        path = tmp_path / "quadgen.toml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return load(Source(str(path), path))

    return loader
