"""One booted host for each Debian release, shared by all tests of this folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from quadgen.quadlet.version import PodmanVersion

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "scripts"))

import testhost  # noqa: E402  scripts/ is no package

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

GENERATOR = "/usr/libexec/podman/quadlet"
# Stands for Podman, and for a command before it: notes its words, each ended by NUL, under its unit's name.
# What Podman does at the end of a unit it leaves out.
RECORDER = """#!/bin/sh
case $1 in
run) printf '%s\\0' "$@" >"${0%/*}/seen/$PODMAN_SYSTEMD_UNIT" ;;
before) printf '%s\\0' "$PASSED" "$@" >"${0%/*}/seen/$PODMAN_SYSTEMD_UNIT.before" ;;
esac
"""
UNITS = ".config/systemd/user"


@dataclass(frozen=True)
class Recorded:
    """What the recorder got.

    Args:
        words: The words of each service, by its name; with `.before`, those of its command before the start.
        shown: What systemd tells of each service, by its name.
    """

    words: Mapping[str, list[bytes]]
    shown: Mapping[str, str]


@dataclass(frozen=True)
class BootedHost:
    """A host of one release with a folder that it shares with the tests.

    Args:
        host: What runs commands inside.
        shared: The folder, which has the same path inside.
    """

    host: testhost.Host
    shared: Path

    def user(self, *argv: str, timeout: float = 300) -> str:
        """Run a command as the host's user; it must succeed."""
        done = self.host.run(argv, timeout=timeout)
        assert done.returncode == 0, f"{argv[:6]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def reboot(self) -> None:
        """Restart the host, as its power button would."""
        self.host.reboot([str(self.shared)])

    def podman(self) -> PodmanVersion:
        """The version of the host's Podman."""
        return PodmanVersion.parse(self.user("podman", "--version"))

    @property
    def recorder(self) -> str:
        """The path of the recorder of the next `record`."""
        return str(self._folder() / "podman")

    def record(self, units: Mapping[str, str], *properties: str, must_start: bool = True) -> Recorded:
        """Start container units, given by name and text, with the recorder in the place of Podman.

        They are of Type=oneshot and wait for no network, so that they are over when `systemctl start` is.
        """
        folder = self._prepare(units)
        make = f"mkdir -p ~/{UNITS} && {GENERATOR} -user -no-kmsg-log ~/{UNITS}"
        self.user("env", f"QUADLET_UNIT_DIRS={folder}/units", f"PODMAN={folder}/podman", "sh", "-c", make)
        self.user("systemctl", "--user", "daemon-reload")
        services = [name.replace(".container", ".service") for name in units]
        for first in range(0, len(services), 500):
            started = self.host.run(
                ["systemctl", "--user", "start", *services[first : first + 500]], timeout=300
            )
            assert started.returncode == 0 or not must_start, started.stderr[-2000:]
        shown = {name: self._show(name, properties) for name in services if properties}
        self.user("sh", "-c", f"rm -r ~/{UNITS} && systemctl --user daemon-reload")
        words = {path.name: path.read_bytes().split(b"\0")[:-1] for path in (folder / "seen").iterdir()}
        return Recorded(words, shown)

    def _folder(self) -> Path:
        return self.shared / f"run-{len(list(self.shared.iterdir()))}"

    def _prepare(self, units: Mapping[str, str]) -> Path:
        folder = self._folder()
        for name in ("units", "seen"):
            (folder / name).mkdir(parents=True)
        (folder / "seen").chmod(0o777)
        recorder = folder / "podman"
        recorder.write_text(RECORDER)
        recorder.chmod(0o755)
        for name, content in units.items():
            (folder / "units" / name).write_text(content, encoding="utf-8")
        return folder

    def _show(self, name: str, properties: Iterable[str]) -> str:
        return self.user("systemctl", "--user", "show", f"--property={','.join(properties)}", name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder needs a host; scripts/test leaves them out where none can run."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.host)


@pytest.fixture(scope="session", params=testhost.RELEASES)
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BootedHost]:
    """A freshly booted host, one release after the other."""
    testhost.build(request.param)
    testhost.make_environment()
    testhost.make_model()
    testhost.build_images(request.param)
    shared = tmp_path_factory.mktemp(f"shared-{request.param}")
    shared.chmod(0o777)
    # pytest closes its folders to other users, and the host's user is one.
    for folder in (tmp_path_factory.getbasetemp(), tmp_path_factory.getbasetemp().parent):
        folder.chmod(0o755)
    booted = testhost.Host(request.param)
    booted.boot([str(shared)])
    yield BootedHost(booted, shared)
    booted.stop()
