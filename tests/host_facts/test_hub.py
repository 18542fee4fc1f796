from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from quadgen.host.hub import model_config

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
VOLUME = ".local/share/containers/storage/volumes/systemd-quadgen-huggingface/_data"


def put(cache: Path, commit: str = COMMIT, text: str = '{"model_type": "qwen3"}') -> None:
    folder = cache / "hub" / "models--org--m"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    (folder / "snapshots" / commit).mkdir(parents=True)
    (folder / "snapshots" / commit / "config.json").write_text(text)


@pytest.mark.parametrize("place", [".cache/huggingface", "elsewhere", VOLUME])
def test_a_cached_model_is_found(own_home: Path, place: str) -> None:
    put(own_home / place)
    env = {"HOME": str(own_home), "HF_HOME": str(own_home / "elsewhere")}
    assert model_config("org/m", None, env) == {"model_type": "qwen3"}
    assert model_config("org/m", COMMIT, env) == {"model_type": "qwen3"}
    assert model_config("org/m", "other", env) is None
    assert model_config("org/n", None, env) is None


def test_a_model_in_a_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"a": 1}))
    assert model_config(str(tmp_path), None, {}) == {"a": 1}


@pytest.mark.parametrize(
    "text", ["", "[]", "no json", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1")]
)
def test_what_is_no_config_is_none(own_home: Path, text: str) -> None:
    put(own_home / ".cache/huggingface", text=text)
    assert model_config("org/m", None, {"HOME": str(own_home)}) is None
