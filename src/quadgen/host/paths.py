"""Where this user's folders are, by the XDG base directory rules, and where Quadlet and systemd look."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Top of the file system; tests put a folder in its place.
ROOT = Path("/")


def home_folder(env: Mapping[str, str]) -> Path:
    """The user's home: `$HOME`, else what the user database says."""
    home = Path(env.get("HOME", ""))
    if home.is_absolute():
        return home
    import pwd  # noqa: PLC0415 - nearly nobody lacks HOME

    return Path(pwd.getpwuid(os.getuid()).pw_dir)


def xdg_folder(env: Mapping[str, str], variable: str, default: Path) -> Path:
    """A base directory.

    The XDG rules: unset and empty mean the default, and a relative path is invalid and to be ignored.

    Args:
        env: The environment.
        variable: Such as `XDG_CONFIG_HOME`.
        default: Used where the variable names no absolute path.
    """
    value = Path(env.get(variable, ""))
    return value if value.is_absolute() else default


def data_folder(env: Mapping[str, str]) -> Path:
    """`$XDG_DATA_HOME`, by default `~/.local/share`."""
    return xdg_folder(env, "XDG_DATA_HOME", home_folder(env) / ".local/share")


def runtime_folder(env: Mapping[str, str]) -> Path | None:
    """`$XDG_RUNTIME_DIR`; a shell that su or sudo opened has none."""
    value = Path(env.get("XDG_RUNTIME_DIR", ""))
    return value if value.is_absolute() else None
