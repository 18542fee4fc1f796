"""A machine in a temporary folder, for all tests of deploying."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from quadgen.deploy.apply import apply, recover
from quadgen.deploy.compare import make_plan
from quadgen.deploy.installed import scan
from quadgen.deploy.lock import exclusive
from quadgen.deploy.place import place_for
from quadgen.host.facts import Host
from quadgen.quadlet.assignment import UnitFile
from quadgen.quadlet.header import stamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quadgen.deploy.apply import Applied
    from quadgen.deploy.disk import Disk
    from quadgen.deploy.installed import Installed
    from quadgen.deploy.place import Place
    from quadgen.deploy.plan import Plan


def unit(
    name: str, *services: str, body: str = "[Container]\nImage=docker.io/x/y:1\n", spec: str = ""
) -> UnitFile:
    """A rendered unit file."""
    spec = spec or SPEC
    names = tuple(sorted(services or (name.partition(".")[0],)))
    return UnitFile(name, stamp(body, spec=spec, services=names), names)


SPEC = str(Path(__file__).resolve())  # a spec that exists
OTHER_SPEC = str(Path(__file__).resolve().parent)


class Box:
    """A machine in a temporary folder."""

    def __init__(self, top: Path, podman: str | None = "5.4.2") -> None:
        home = top / "home"
        home.mkdir(parents=True)
        self.root = top / "root"
        self.root.mkdir()
        self.host = Host(
            home=home,
            config_home=home / ".config",
            state_home=home / ".local/state",
            runtime_dir=top / "run",
            uid=os.getuid(),
            user="u",
            podman=podman,
            systemd=257,
        )

    def with_podman(self, version: str | None) -> None:
        self.host = replace(self.host, podman=version)

    @property
    def place(self) -> Place:
        return place_for(self.host)

    def scan(self) -> Installed:
        return scan(self.place, self.host, root=self.root)

    def plan(self, rendered: Sequence[UnitFile], spec: str | None = SPEC, **options: object) -> Plan:
        return make_plan(rendered, self.scan(), spec=spec, **options)  # type: ignore[arg-type]

    def install(self, rendered: Sequence[UnitFile], disk: Disk | None = None, **options: object) -> Applied:
        with exclusive(self.place) as lock:
            recover(self.place, lock)
            return apply(self.plan(rendered, **options), lock, disk)  # type: ignore[arg-type]

    def put(self, path: str, text: str = "[Container]\nImage=docker.io/hand/made:1\n") -> Path:
        """A file below the home folder that somebody else made."""
        file = self.host.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def tree(self) -> dict[str, str]:
        """Everything in the folder that Quadlet reads, by its path below that folder."""
        base = self.place.base
        return {
            str(file.relative_to(base)): str(file.readlink()) if file.is_symlink() else file.read_text()
            for file in sorted(base.rglob("*"))
            if file.is_symlink() or file.is_file()
        }
