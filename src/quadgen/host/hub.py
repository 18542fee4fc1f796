"""Models that are on this machine already: in a folder of their own, or in a cache of the hub."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quadgen.host.paths import xdg_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Where huggingface_hub keeps models below its home; its documentation, "Understand caching".
_HUB = "hub"
_LARGEST = 4 * 1024 * 1024


def model_config(model: str, revision: str | None, env: Mapping[str, str]) -> dict[str, Any] | None:
    """The model's `config.json`; None where it is not on this machine, or can't be read.

    Args:
        model: Hub id or absolute path.
        revision: Branch, tag or commit; None for the main branch.
        env: The user's environment, for HOME and HF_HOME.
    """
    for file in _candidates(model, revision, env):
        try:
            if file.stat().st_size <= _LARGEST:
                config = json.loads(file.read_text(encoding="utf-8"))
                return config if isinstance(config, dict) else None
        except (OSError, ValueError):
            continue
    return None


def _candidates(model: str, revision: str | None, env: Mapping[str, str]) -> Iterator[Path]:
    if model.startswith("/"):
        yield Path(model, "config.json")
        return
    for cache in _caches(env):
        folder = cache / _HUB / f"models--{model.replace('/', '--')}"
        commit = revision or "main"
        with suppress(OSError, ValueError):  # else it is a commit itself, or is not here
            commit = (folder / "refs" / commit).read_text(encoding="utf-8").strip()
        yield folder / "snapshots" / commit / "config.json"


def _caches(env: Mapping[str, str]) -> Iterator[Path]:
    home = Path(env.get("HOME") or Path.home())
    if env.get("HF_HOME"):
        yield Path(env["HF_HOME"])
    yield home / ".cache" / "huggingface"
    # The volume that quadgen's units share, where rootless Podman keeps it by default.
    data = xdg_folder(env, "XDG_DATA_HOME", home / ".local/share")
    yield data / "containers" / "storage" / "volumes" / "systemd-quadgen-huggingface" / "_data"
