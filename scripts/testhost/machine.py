"""A booted host: a root folder run by systemd-nspawn, whose state is thrown away when it stops."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .command import TestHostError, call, is_built, locked, remove
from .places import CHECKOUT, MODELS, STATE, VLLM, image_store, rootfs
from .rootfs import HOME, RECIPE, UID, USER
from .vllm_environment import base_prefix, is_environment_built

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BOOT_SECONDS = 60
STOP_SECONDS = 30
STORAGE = f"/{HOME}/.local/share/containers"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# The argv of a shell that enters a cgroup and becomes the command after it; words go through untouched.
ENTER_CGROUP = ("sh", "-c", 'echo $$ >"$0" && exec "$@"')
# nspawn mounts a boot id of its own, which services with a private /proc do not see. In systemd 262 logind is
# one of those and then refuses every login. Nothing needs that id, so it goes before systemd starts.
INIT = ("/bin/sh", "-c", "umount /proc/sys/kernel/random/boot_id; exec /sbin/init")
NSPAWN_ENVIRONMENT = {
    "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
    # Rootless containers set sysctls of their own network namespace.
    "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "1",
}


@dataclass(frozen=True)
class Host:
    """One Debian release as a host; a release runs once at a time, different ones side by side.

    All hosts share the network of this machine, so published ports are reachable from outside.
    """

    release: str

    @property
    def folder(self) -> Path:
        """What belongs to the present boot, the console's log among it."""
        return STATE / "run" / self.release

    @property
    def home(self) -> Path:
        """Its user's home of the present boot, on a disk."""
        return self.folder / "home"

    @property
    def cgroup(self) -> Path:
        """The host's own control group: who is in it runs, whatever became of the process that booted it."""
        checkout = hashlib.sha256(os.fsencode(CHECKOUT)).hexdigest()[:8]
        return cgroup_root() / f"quadgen-{checkout}-{self.release}"

    def is_booted(self) -> bool:
        """Tell whether any process of this host is alive."""
        events = self.cgroup / "cgroup.events"
        return events.is_file() and "populated 1" in events.read_text()

    def leader(self) -> int:
        """The pid of the host's systemd, as seen from outside."""
        for pid in pids(self.cgroup):
            if is_first_process(pid):
                return pid
        raise TestHostError(f"host {self.release} is not booted: run 'test-host boot {self.release}'")

    def boot(self, binds: Sequence[str] = (), *, storage: Path | None = None) -> None:
        """Start the host and wait until the user's manager is up.

        `binds` are writable `SOURCE[:DESTINATION]` mounts beside the checkout (/src, read-only) and the vLLM
        environment. `storage` is a Podman storage that keeps what is written; without it the boot gets a copy
        of the test images, if they were built.

        Raises:
            TestHostError: the host is not built, is booted already, or does not come up.
        """
        if not is_built(rootfs(self.release), RECIPE):
            raise TestHostError(
                f"{self.release} is not built, or by another recipe: run 'test-host build {self.release}'"
            )
        with locked(self.folder):
            self.boot_anew([f"--bind={bind}" for bind in binds], storage)

    def boot_anew(self, binds: Sequence[str], storage: Path | None) -> None:
        """Forget what a former boot left, and boot."""
        if self.is_booted():
            raise TestHostError(
                f"host {self.release} is booted already: run 'test-host stop {self.release}' first"
            )
        self.clean()
        self.folder.mkdir()
        storage = storage or self.copy_images()
        call(["cp", "--archive", "--reflink=auto", str(rootfs(self.release) / HOME), str(self.home)])
        self.come_up([f"--bind={storage}:{STORAGE}", *binds])

    def reboot(self, binds: Sequence[str] = ()) -> None:
        """Shut the host down and boot it again; its user's home and images stay, and nothing else does."""
        with locked(self.folder):
            self.power_off()
            self.come_up([f"--bind={self.folder / 'containers'}:{STORAGE}", *(f"--bind={b}" for b in binds)])

    def come_up(self, options: Sequence[str]) -> None:
        """Launch it and wait until it is up."""
        self.launch([f"--bind={self.home}:/{HOME}", *own_binds(), *options])
        try:
            self.wait_until_up()
        except BaseException:
            self.kill()
            raise

    def copy_images(self) -> Path:
        """Give this boot its own storage, so that no test sees what another one left."""
        copy = self.folder / "containers"
        if image_store(self.release).is_dir():
            call(["cp", "--archive", "--reflink=auto", str(image_store(self.release)), str(copy)])
        else:
            copy.mkdir()
            os.chown(copy, UID, UID)
        return copy

    def launch(self, options: Sequence[str]) -> None:
        """Start systemd-nspawn apart from this process, in the host's own control group."""
        # Two hosts in one group would each take the whole of it for their own.
        self.cgroup.mkdir(exist_ok=True)
        nspawn = [
            "systemd-nspawn",
            "--quiet",
            "--register=no",
            "--keep-unit",
            "--console=read-only",
            "--volatile=overlay",
            f"--machine=quadgen-{self.release}",
            f"--directory={rootfs(self.release)}",
            "--capability=all",
            "--system-call-filter=keyctl bpf @keyring",
            *options,
            *INIT,
        ]
        with (self.folder / "console.log").open("w") as log:
            subprocess.run(
                [*ENTER_CGROUP, str(self.cgroup / "cgroup.procs"), "setsid", "--fork", *nspawn],
                check=True,
                env={**os.environ, **NSPAWN_ENVIRONMENT},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait_until_up(self) -> None:
        """Wait for the user's manager, or fail with the end of the console's log."""
        deadline = time.monotonic() + BOOT_SECONDS
        while self.is_booted() and time.monotonic() < deadline:
            if self.has_user_bus():
                self.run(["systemctl", "--user", "is-system-running", "--wait"], timeout=BOOT_SECONDS)
                return
            time.sleep(0.1)
        tail = (self.folder / "console.log").read_text(errors="replace").strip().splitlines()[-3:]
        raise TestHostError(
            f"host {self.release} did not come up within {BOOT_SECONDS} s: {' | '.join(tail)}"
        )

    def has_user_bus(self) -> bool:
        """Tell whether the user's manager listens."""
        try:
            return Path(f"/proc/{self.leader()}/root/run/user/{UID}/bus").exists()
        except TestHostError:
            return False

    def argv(self, argv: Sequence[str], *, root: bool = False) -> list[str]:
        """The command line that runs argv inside, as the user with the user's bus, or as root."""
        leader = self.leader()
        enter = ["nsenter", f"--target={leader}", "--all", "--", "setpriv", "--pdeathsig=KILL"]
        if root:
            # A login's group, as sshd would give it; what a timeout cuts off ends with its parent.
            return [*ENTER_CGROUP, self.session("root"), *enter, *environment("root", "/root"), *argv]
        rights = [f"--reuid={UID}", f"--regid={UID}", "--init-groups"]
        bus = [f"XDG_RUNTIME_DIR=/run/user/{UID}", f"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/{UID}/bus"]
        return [
            *ENTER_CGROUP,
            self.session(USER),
            *enter,
            *rights,
            *environment(USER, f"/{HOME}"),
            *bus,
            *argv,
        ]

    def session(self, name: str) -> str:
        """The processes file of a group inside the host, so that commands do not count as outsiders."""
        group = self.cgroup / "payload" / f"test-{name}.scope"
        group.mkdir(exist_ok=True)
        return str(group / "cgroup.procs")

    def run(
        self,
        argv: Sequence[str],
        *,
        root: bool = False,
        input: str | None = None,  # noqa: A002 - subprocess.run's own name
        timeout: float | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside and return status and output; `timeout` in seconds ends the command."""
        return subprocess.run(
            self.argv(argv, root=root),
            check=False,
            input=input or "",
            timeout=timeout,
            capture_output=True,
            text=True,
        )

    def stop(self) -> None:
        """Shut the host down and forget what it wrote; a stopped host stays so."""
        self.power_off()
        self.clean()

    def power_off(self) -> None:
        """Shut the host down and wait for its end, which is forced after a while."""
        # A signal that systemd takes for `poweroff`, also when no bus works any more.
        with suppress(TestHostError, ProcessLookupError):
            os.kill(self.leader(), signal.SIGRTMIN + 4)
            self.wait_until_gone(STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End every process of the host at once."""
        if self.is_booted():
            (self.cgroup / "cgroup.kill").write_text("1")
            self.wait_until_gone(STOP_SECONDS)

    def wait_until_gone(self, seconds: float) -> bool:
        """Wait for the last process of the host."""
        deadline = time.monotonic() + seconds
        while self.is_booted() and time.monotonic() < deadline:
            time.sleep(0.05)
        return not self.is_booted()

    def clean(self) -> None:
        """Remove the group and the files of a boot that has ended."""
        if self.cgroup.is_dir():
            for group, _, _ in os.walk(self.cgroup, topdown=False):
                # Podman may still be removing groups of its own.
                with suppress(FileNotFoundError):
                    Path(group).rmdir()
        remove(self.folder)


def cgroup_root() -> Path:
    """The place where this machine mounts cgroup2."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind = line.split()[:3]
        if kind == "cgroup2":
            return Path(place)
    raise TestHostError("no cgroup2 file system is mounted here: a host cannot run without")


def pids(cgroup: Path) -> Iterator[int]:
    """All processes of a group and the groups below it."""
    for group, _, _ in os.walk(cgroup):
        # It may go away meanwhile, or be threaded.
        with suppress(OSError):
            yield from map(int, Path(group, "cgroup.procs").read_text().split())


def is_first_process(pid: int) -> bool:
    """Tell whether a process is number 1 of the first PID namespace below ours."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return any(line.split() == ["NSpid:", str(pid), "1"] for line in status.splitlines())


def own_binds() -> list[str]:
    """The checkout, and the vLLM environment, its Python and the models at their own places."""
    # Recursive, it would show the host's own mounts a second time below .test-host.
    binds = [f"--bind-ro={CHECKOUT}:/src:norbind"]
    if CERTIFICATES.exists():
        # Where this machine reaches the package index through a proxy with a certificate of its own.
        binds.append(f"--bind-ro={CERTIFICATES}")
    if is_environment_built():
        MODELS.mkdir(exist_ok=True)
        binds += [f"--bind-ro={path}" for path in (VLLM, base_prefix(), MODELS)]
    return binds


def environment(user: str, home: str) -> list[str]:
    """The words that give a command a login's environment and nothing of ours."""
    names = {
        "HOME": home,
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "PATH": f"{home}/.local/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "TERM": os.environ.get("TERM", "dumb"),
    }
    return [
        "env",
        "--ignore-environment",
        f"--chdir={home}",
        *(f"{key}={value}" for key, value in names.items()),
    ]
