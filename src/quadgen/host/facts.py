"""What is true of this machine, read once and cheaply.

Nothing here fails because a program is missing: a fact that cannot be had is None. The functions for
single facts are for commands that need no more: `podman --version` alone takes longer than a render.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quadgen.errors import HostError
from quadgen.host.cdi import CdiSpec, read_cdi_specs, spec_folders
from quadgen.host.paths import ROOT, data_folder, home_folder, runtime_folder, xdg_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quadgen.host.run import Runner

# The link that the user manager runs comes first: that one decides. systemd.generator(7) has the folders.
_GENERATORS = (
    "etc/systemd/user-generators/podman-user-generator",
    "usr/local/lib/systemd/user-generators/podman-user-generator",
    "usr/lib/systemd/user-generators/podman-user-generator",
    "usr/libexec/podman/quadlet",
    "usr/lib/podman/quadlet",
    "usr/local/libexec/podman/quadlet",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """A user manager that answered.

    Args:
        systemd: Its major version.
        config_home: `XDG_CONFIG_HOME` in its own environment, where the generator looks, if it is set there.
    """

    systemd: int | None
    config_home: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What is true of the target machine.

    Args:
        home: The user's home folder.
        config_home: `$XDG_CONFIG_HOME` by the XDG rules.
        state_home: `$XDG_STATE_HOME` by the XDG rules.
        runtime_dir: `$XDG_RUNTIME_DIR`, where it is set.
        uid: The user's number.
        user: The user's name.
        podman: Podman's version, such as `5.4.2`; None where it is not installed.
        systemd: systemd's major version; None where it is not installed.
        booted: systemd is this machine's init.
        manager: The user manager; None where it cannot be reached.
        linger: Services of this user start at boot and outlive the last session; None where unknown.
        data_home: `$XDG_DATA_HOME` by the XDG rules; None for the default one.
        controllers: cgroup controllers that the user's units may use; None where unknown.
        cgroup_v2: The machine uses the unified cgroup hierarchy, which Quadlet's units need.
        generator: Quadlet's generator.
        cdi: The CDI specs that Podman would read, the ones without effect included.
        selinux: SELinux is enforcing; None where the kernel has none.
    """

    home: Path
    config_home: Path
    state_home: Path
    runtime_dir: Path | None = None
    uid: int = 1000
    user: str = ""
    podman: str | None = None
    systemd: int | None = None
    booted: bool = True
    manager: Manager | None = None
    linger: bool | None = None
    data_home: Path | None = None
    controllers: frozenset[str] | None = None
    cgroup_v2: bool = True
    generator: Path | None = None
    cdi: tuple[CdiSpec, ...] = ()
    selinux: bool | None = None

    @property
    def data_folder(self) -> Path:
        """The user's data folder, wherever it is."""
        return self.data_home or self.home / ".local/share"

    @property
    def podman_release(self) -> tuple[int, int] | None:
        """Major and minor number of Podman's version."""
        match = re.match(r"(\d+)\.(\d+)", self.podman or "")
        return (int(match[1]), int(match[2])) if match else None


def detect(runner: Runner, env: Mapping[str, str], *, root: Path = ROOT) -> Host:
    """Read every fact.

    Args:
        runner: Starts `podman` and `systemctl`.
        env: The environment of the command.
        root: Top of the file system, for tests.
    """
    home = home_folder(env)
    uid, user = os.getuid(), _user_name()
    config_home = xdg_folder(env, "XDG_CONFIG_HOME", home / ".config")
    manager = detect_manager(runner)
    return Host(
        home=home,
        config_home=config_home,
        state_home=xdg_folder(env, "XDG_STATE_HOME", home / ".local/state"),
        runtime_dir=runtime_folder(env),
        uid=uid,
        user=user,
        podman=detect_podman(runner),
        systemd=manager.systemd if manager else detect_systemd(runner),
        booted=(root / "run/systemd/system").is_dir(),
        manager=manager,
        linger=_linger(root, user),
        data_home=detect_data_home(env),
        controllers=detect_controllers(uid, root=root),
        cgroup_v2=(root / "sys/fs/cgroup/cgroup.controllers").exists(),
        generator=find_generator(root=root),
        cdi=read_cdi_specs(spec_folders(config_home, root=root)),
        selinux=_selinux(root),
    )


def detect_data_home(env: Mapping[str, str]) -> Path | None:
    """`$XDG_DATA_HOME` where it is another folder than the default one."""
    folder = data_folder(env)
    return None if folder == home_folder(env) / ".local/share" else folder


def detect_podman(runner: Runner) -> str | None:
    """Podman's version, such as `5.4.2` or `4.9.4-rhel`; None where it is not installed."""
    text = _output(runner, "podman", "--version")
    match = re.search(r"\d+\.\d+\S*", text or "")
    return match[0] if match else None


def detect_systemd(runner: Runner) -> int | None:
    """The major version of systemd, without needing a manager; None where it is not installed."""
    return _major(_output(runner, "systemctl", "--version"))


def detect_manager(runner: Runner) -> Manager | None:
    """The user manager with its version and environment, in one call; None where it does not answer."""
    text = _output(runner, "systemctl", "--user", "show", "--property=Version", "--property=Environment")
    if text is None:
        return None
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    found = re.search(r'(?:^|[ "])XDG_CONFIG_HOME=([^ "]+)', fields.get("Environment", ""))
    config_home = Path(found[1]) if found else None
    if config_home and not config_home.is_absolute():
        config_home = None
    return Manager(systemd=_major(fields.get("Version")), config_home=config_home)


def detect_controllers(uid: int, *, root: Path = ROOT) -> frozenset[str] | None:
    """The cgroup controllers delegated to the user manager of `uid`; None where there is none."""
    # systemd's fixed name of a user manager's cgroup: systemd.special(7), user@.service.
    file = root / f"sys/fs/cgroup/user.slice/user-{uid}.slice/user@{uid}.service/cgroup.controllers"
    text = _read(file)
    return None if text is None else frozenset(text.split())


def find_generator(*, root: Path = ROOT) -> Path | None:
    """Quadlet's generator, as the user manager would find it, or where distributions put it."""
    for name in _GENERATORS:
        candidate = root / name
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    return None


def _linger(root: Path, user: str) -> bool | None:
    # logind keeps one file for each user; the folder is there once logind has run.
    folder = root / "var/lib/systemd/linger"
    if (folder / user).exists():
        return True
    return False if (root / "run/systemd/system").is_dir() else None


def _selinux(root: Path) -> bool | None:
    text = _read(root / "sys/fs/selinux/enforce")
    return None if text is None else text.strip() == "1"


def _user_name() -> str:
    import pwd  # noqa: PLC0415

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a uid without a name, as in some containers
        return str(os.getuid())


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _output(runner: Runner, *argv: str) -> str | None:
    try:
        done = runner.run(argv)
    except HostError:
        return None
    return done.stdout if done.status == 0 else None


def _major(text: str | None) -> int | None:
    match = re.search(r"\d+", text or "")
    return int(match[0]) if match else None
