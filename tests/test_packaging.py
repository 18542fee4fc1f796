"""What is built works away from the checkout: the wheel, the sdist, and an editable install."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
CLEAN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}


def run(*argv: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, CHECKOUT, cwd=folder)
    return folder


def environment(folder: Path, *requirement: str | Path) -> Path:
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirement, cwd=folder)
    return python


def test_the_wheel_carries_what_is_not_code(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for folder, inside in (("templates", "quadgen/data/templates"), ("quadlets", "quadgen/data/quadlets")):
        for path in (CHECKOUT / folder).iterdir():
            assert f"{inside}/{path.name}" in names
    assert "quadgen/py.typed" in names
    assert "quadgen/quadlet/keys.json" in names
    assert not [name for name in names if not name.startswith(("quadgen/", "quadgen-"))]


@pytest.mark.parametrize("kind", ["wheel", "sdist", "editable"])
def test_an_installed_quadgen_runs_from_anywhere(kind: str, built: Path, tmp_path: Path) -> None:
    requirement: list[str | Path] = {
        "wheel": [*built.glob("*.whl")],
        "sdist": [*built.glob("*.tar.gz")],
        "editable": ["--editable", CHECKOUT],
    }[kind]
    python = environment(tmp_path / "environment", *requirement)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    quadgen = python.parent / "quadgen"
    home = {**CLEAN, "HOME": str(elsewhere)}
    assert run(quadgen, "--version", cwd=elsewhere, env=home).startswith("quadgen ")
    shown = run(
        quadgen,
        "render",
        "--podman",
        "5.4",
        "--probe",
        "container",
        "--output",
        "units",
        cwd=elsewhere,
        env=home,
    )
    assert shown == ""
    for path in (CHECKOUT / "quadlets").glob("vllm-qwen*.container"):
        assert (elsewhere / "units" / path.name).read_bytes() == path.read_bytes()
    run(quadgen, "init", cwd=elsewhere, env=home)
    run(quadgen, "check", cwd=elsewhere, env=home)


# What no command may load that neither fails nor talks to anybody; pydantic_core stands in for pydantic.
NEVER = {
    "asyncio", "csv", "ctypes", "difflib", "email", "http", "importlib.metadata", "logging", "pydantic", "requests",
    "rich", "sdnotify", "selectors", "socket", "ssl", "subprocess", "unittest", "urllib.request", "urllib3",
}  # fmt: skip


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_click_and_little_else(option: str, tmp_path: Path) -> None:
    loaded = modules_after([option], tmp_path)
    assert "click" in loaded
    assert loaded & {*NEVER, "jinja2", "json", "pydantic_core", "tempfile", "tomllib"} == set()
    own = {name for name in loaded if name.split(".")[0] == "quadgen"}
    assert own <= {
        "quadgen", "quadgen.__main__", "quadgen.cli", "quadgen.cli.group", "quadgen.cli.main", "quadgen.cli.settings",
        "quadgen.errors",
    }  # fmt: skip


def test_render_loads_neither_http_nor_what_only_failures_need(tmp_path: Path) -> None:
    loaded = modules_after(["render", "--podman", "5.4"], tmp_path)
    assert {"pydantic_core", "jinja2"} <= loaded
    assert loaded & NEVER == set()
    assert {name for name in loaded if name.startswith("quadgen.probe")} == {
        "quadgen.probe",
        "quadgen.probe.probefile",
    }
    elsewhere = ("quadgen.deploy", "quadgen.host", "quadgen.vllm.rules_", "quadgen.vllm.upgrade")
    assert [name for name in loaded if name.startswith(elsewhere)] == []
    commands = {name for name in loaded if name.startswith("quadgen.cli.")}
    assert commands <= {
        f"quadgen.cli.{name}" for name in ("group", "inputs", "main", "output", "render", "settings")
    }


def modules_after(arguments: list[str], folder: Path) -> set[str]:
    script = (
        "import sys; from quadgen.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted(sys.modules), sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())
