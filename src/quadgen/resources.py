"""The files that ship beside the code: templates and built-in services.

A wheel carries them inside the package, in `data/`; a checkout, and so an editable install, has them at
its top, because a build backend's forced includes do not exist there.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The folder `templates` or `quadlets`, wherever this quadgen keeps it.

    Raises:
        FileNotFoundError: The installation is damaged.
    """
    for candidate in (_PACKAGE / "data" / name, _PACKAGE.parent.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"{name}/ is missing from this installation of quadgen")
