"""Debian root folders with systemd, Podman and a user whose manager starts at boot."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from .command import TestHostError, building, call, is_built, locked, recipe_hash, say
from .debian import RELEASES, apt_options, install_tools, mirror
from .places import STATE, rootfs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

USER = "user"
UID = 1000
HOME = f"home/{USER}"
PACKAGES = (
    *("passwd", "systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd"),
    *(
        "podman",
        "crun",
        "passt",
        "uidmap",
        "netavark",
        "aardvark-dns",
        "nftables",
        "fuse-overlayfs",
        "catatonit",
    ),
    *("python3", "python3-venv", "python3-pip", "curl", "ca-certificates", "iproute2", "procps", "jq"),
)
FILES: Mapping[str, str] = {
    f"var/lib/systemd/linger/{USER}": "",
    "etc/hostname": "quadgen-test\n",
    # nspawn leaves these two out of /dev, and rootless Podman's storage and network need them.
    "etc/tmpfiles.d/devices.conf": (
        "c /dev/fuse 0666 root root - 10:229\n"
        "d /dev/net 0755 root root\n"
        "c /dev/net/tun 0666 root root - 10:200\n"
    ),
    # crun fails to set any other limit where the pids controller is not delegated.
    "etc/containers/containers.conf.d/test-host.conf": "[containers]\npids_limit = 0\n",
}
FOLDERS = (
    # Only a persistent journal is split by user, and only a split one can be read by the user.
    "var/log/journal",
    f"{HOME}/.config/containers/systemd",
    f"{HOME}/.local/share/containers",
)
MASKED = (
    *("systemd-modules-load.service", "console-getty.service", "systemd-firstboot.service"),
    *(
        "apt-daily.timer",
        "apt-daily-upgrade.timer",
        "dpkg-db-backup.timer",
        "fstrim.timer",
        "e2scrub_all.timer",
    ),
)
# Python and what the CPU build of vLLM and a Python from outside link against.
IMAGE_PACKAGES = (
    *("python3", "libstdc++6", "libgomp1", "libnuma1", "libsqlite3-0", "libssl3t64", "libffi8"),
    *("libreadline8t64", "libbz2-1.0", "liblzma5", "ca-certificates"),
)
IMAGE_RELEASE = "trixie"
RECIPE = recipe_hash(PACKAGES, FILES, FOLDERS, MASKED, 1)
IMAGE_RECIPE = recipe_hash(IMAGE_PACKAGES, IMAGE_RELEASE)
IMAGE_ARCHIVE = STATE / "image" / "root.tar"


def build(release: str) -> Path:
    """Build the root folder of a Debian release unless it is there; needs root, takes about a minute."""
    if release not in RELEASES:
        raise TestHostError(f"no release {release!r}: there are {', '.join(RELEASES)}")
    target = rootfs(release)
    with locked(target):
        if not is_built(target, RECIPE):
            install_tools()
            say(f"building {release}")
            with building(target, RECIPE) as work:
                bootstrap("apt", PACKAGES, release, work)
                configure(work)
    return target


def bootstrap(variant: str, packages: tuple[str, ...], release: str, target: Path) -> None:
    """Run mmdebstrap with the machine's own mirror and proxy."""
    options = [f"--aptopt={line}" for line in apt_options()]
    include = f"--include={','.join(packages)}"
    call(["mmdebstrap", f"--variant={variant}", include, *options, "--quiet", release, str(target), mirror()])


def configure(root: Path) -> None:
    """Add the user, and what nspawn and rootless Podman need."""
    call(["chroot", str(root), "useradd", "--create-home", "--shell=/bin/bash", f"--uid={UID}", USER])
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    call(["chroot", str(root), "chown", "--recursive", f"{USER}:{USER}", f"/{HOME}"])
    # A fixed id keeps systemd from treating every boot as the first one.
    (root / "etc/machine-id").write_text(f"{uuid.uuid4().hex}\n")
    # What is bound from a folder under the outer root's home must be reachable for the user.
    (root / "root").chmod(0o711)
    link_units(root / "etc/systemd/system")


def link_units(system: Path) -> None:
    """Mask what has no place here, and call the network online, for which Quadlet's units wait 90 s."""
    for unit in MASKED:
        link(system / unit, "/dev/null")
    link(
        system / "multi-user.target.wants/network-online.target",
        "/usr/lib/systemd/system/network-online.target",
    )


def link(path: Path, target: str) -> None:
    """Make a symbolic link in place of whatever is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def build_image_archive() -> Path:
    """Make the root file system of the test images as a tar archive, unless it is there."""
    folder = IMAGE_ARCHIVE.parent
    with locked(folder):
        if not is_built(folder, IMAGE_RECIPE):
            install_tools()
            say("building the image archive")
            with building(folder, IMAGE_RECIPE) as work:
                bootstrap("essential", IMAGE_PACKAGES, IMAGE_RELEASE, work / IMAGE_ARCHIVE.name)
    return IMAGE_ARCHIVE
