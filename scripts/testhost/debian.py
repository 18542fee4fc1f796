"""What the machine's own apt knows: mirror and proxy, and packages of other Debian releases."""

from __future__ import annotations

import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .command import TestHostError, ask, building, call, is_built, locked, recipe_hash, remove, say
from .places import STATE, rootfs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOOLS: Mapping[str, str] = {"systemd-nspawn": "systemd-container", "mmdebstrap": "mmdebstrap"}
RELEASES = ("trixie", "forky")
GENERATOR = "usr/libexec/podman/quadlet"
APT = Path("/etc/apt")
ONE_LINE = re.compile(
    r"^deb\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)$"
)


@dataclass(frozen=True)
class Source:
    """One archive from the machine's apt sources."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


def mirror() -> str:
    """The address of the Debian archive that this machine itself installs from.

    Raises TestHostError when the sources name none for the running release.
    """
    codename = os_release().get("VERSION_CODENAME", "")
    for source in sources():
        if codename in source.suites and "main" in source.components and source.uri.startswith("http"):
            return source.uri
    raise TestHostError(
        f"no Debian archive for {codename or 'this release'!r} in {APT}: the host is built on Debian only"
    )


def os_release() -> dict[str, str]:
    """Read the machine's os-release(5)."""
    return platform.freedesktop_os_release()


def sources() -> Iterator[Source]:
    """Read both formats of sources.list(5), in the order in which apt does."""
    for path in [APT / "sources.list", *sorted((APT / "sources.list.d").glob("*"))]:
        if path.suffix == ".list" and path.is_file():
            yield from one_line_sources(path.read_text())
        elif path.suffix == ".sources":
            yield from deb822_sources(path.read_text())


def one_line_sources(text: str) -> Iterator[Source]:
    """The `deb URI SUITE COMPONENT…` lines of a .list file."""
    for line in text.splitlines():
        found = ONE_LINE.match(line.split("#")[0].strip())
        if found:
            yield Source(found["uri"], (found["suite"],), tuple(found["components"].split()))


def deb822_sources(text: str) -> Iterator[Source]:
    """The enabled `Types: deb` paragraphs of a .sources file."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        joined = re.sub(r"\n[ \t]+", " ", paragraph)
        fields = {
            key.strip().lower(): value.split()
            for key, _, value in (x.partition(":") for x in joined.splitlines())
        }
        if "deb" in fields.get("types", []) and fields.get("enabled") != ["no"]:
            for uri in fields.get("uris", []):
                yield Source(uri, tuple(fields.get("suites", [])), tuple(fields.get("components", [])))


def apt_options() -> list[str]:
    """apt.conf lines that a second apt needs: the machine's proxy, and mercy for an old release file."""
    dump = ask(["apt-config", "dump", "Acquire"]).splitlines()
    proxies = [line for line in dump if re.match(r'Acquire::https?::Proxy\S* "[^"]+";', line, re.IGNORECASE)]
    return [*proxies, 'Acquire::Check-Valid-Until "false";']


def missing_tools() -> list[str]:
    """The Debian packages of the tools that are not on PATH."""
    return [package for tool, package in TOOLS.items() if not shutil.which(tool)]


def cannot_host() -> str | None:
    """The reason why no host can run on this machine, or None when one can."""
    if os.geteuid() != 0:
        return "booting a host needs root"
    if not any(line.split()[2] == "cgroup2" for line in Path("/proc/mounts").read_text().splitlines()):
        return "no cgroup2 file system is mounted"
    missing = missing_tools()
    if missing and not shutil.which("apt-get"):
        return f"{' and '.join(missing)} missing, and there is no apt-get to install them"
    if missing and os_release().get("ID") != "debian":
        return f"{' and '.join(missing)} missing; they are installed by themselves on Debian only"
    return None


def install_tools() -> None:
    """Install mmdebstrap and systemd-nspawn where they are missing."""
    reason = cannot_host()
    if reason:
        raise TestHostError(reason)
    missing = missing_tools()
    if missing:
        env = {"DEBIAN_FRONTEND": "noninteractive"}
        call(["apt-get", "--quiet", "update"], env=env)
        call(["apt-get", "--quiet", "--yes", "--no-install-recommends", "install", *missing], env=env)


def generator(release: str) -> Path:
    """The Quadlet generator of a release's Podman, from the root folder or else from the package alone."""
    built = rootfs(release) / GENERATOR
    if built.is_file():
        return built
    target = STATE / f"{release}-generator"
    recipe = recipe_hash(release)
    with locked(target):
        if not is_built(target, recipe):
            with building(target, recipe) as work:
                unpack_podman(release, work)
    return target / GENERATOR


def unpack_podman(release: str, work: Path) -> None:
    """Download the podman package with a private apt, which needs no rights and touches no other one."""
    say(f"downloading the podman package of {release}")
    private = work / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d"):
        (private / folder).mkdir(parents=True)
    (private / "state" / "status").touch()
    (private / "etc" / "sources.list").write_text(f"deb {mirror()} {release} main\n")
    config = private / "apt.conf"
    config.write_text("\n".join([*private_apt(private), *apt_options()]) + "\n")
    env = {"APT_CONFIG": str(config)}
    call(["apt-get", "--quiet", "update"], env=env)
    call(["apt-get", "--quiet", "download", "podman"], cwd=work, env=env)
    unpacked = work / "unpacked"
    call(["dpkg-deb", "--extract", str(next(work.glob("podman_*.deb"))), str(unpacked)])
    (work / GENERATOR).parent.mkdir(parents=True)
    (unpacked / GENERATOR).rename(work / GENERATOR)
    for left in (unpacked, private, *work.glob("podman_*.deb")):
        remove(left)


def private_apt(folder: Path) -> list[str]:
    """apt.conf lines that move everything apt writes into a folder; the keys stay the machine's own."""
    return [
        f'Dir::State "{folder}/state";',
        f'Dir::State::status "{folder}/state/status";',
        f'Dir::Cache "{folder}/cache";',
        f'Dir::Etc::main "{folder}/none";',
        f'Dir::Etc::parts "{folder}/etc/apt.conf.d";',
        f'Dir::Etc::sourcelist "{folder}/etc/sources.list";',
        f'Dir::Etc::sourceparts "{folder}/none";',
        f'Dir::Etc::preferencesparts "{folder}/etc/preferences.d";',
        'Acquire::Languages "none";',
        # Root's apt would change to a user who cannot write here.
        'APT::Sandbox::User "root";',
    ]
