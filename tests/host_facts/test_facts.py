from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from quadgen.errors import HostError
from quadgen.host.facts import (
    Host,
    Manager,
    detect,
    detect_controllers,
    detect_manager,
    detect_podman,
    detect_systemd,
    find_generator,
)
from quadgen.host.paths import home_folder, runtime_folder, xdg_folder
from quadgen.host.run import Completed, FakeRunner

SYSTEMD = "systemd 257 (257.9-1~deb13u1)\n+PAM +AUDIT default-hierarchy=unified\n"
SHOW = "Version=257.9-1~deb13u1\nEnvironment=HOME=/home/u LANG=C.UTF-8 PATH=/usr/bin\n"


@pytest.mark.parametrize(
    ("answer", "version", "release"),
    [
        ("podman version 5.4.2\n", "5.4.2", (5, 4)),
        ("podman version 4.9.4-rhel\n", "4.9.4-rhel", (4, 9)),
        ("podman version 6.0.0-rc1\n", "6.0.0-rc1", (6, 0)),
        ("podman version 5.10.0\n", "5.10.0", (5, 10)),
        ("Emulate Docker CLI using podman.\npodman version 5.4.2\n", "5.4.2", (5, 4)),
        ("nonsense\n", None, None),
        (Completed((), 125, "", "cannot re-exec process"), None, None),
        (HostError("hangs"), None, None),
    ],
)
def test_podman_version(
    answer: Completed | str | HostError, version: str | None, release: tuple[int, int] | None
) -> None:
    assert detect_podman(FakeRunner({"podman --version": answer})) == version
    host = Host(home=Path("/h"), config_home=Path("/h/c"), state_home=Path("/h/s"), podman=version)
    assert host.podman_release == release


@pytest.mark.parametrize(
    ("answers", "version"), [({"systemctl --version": SYSTEMD}, 257), ({}, None), ({"systemctl": ""}, None)]
)
def test_systemd_version(answers: dict[str, str], version: int | None) -> None:
    assert detect_systemd(FakeRunner(answers)) == version


@pytest.mark.parametrize(
    ("answer", "manager"),
    [
        pytest.param(SHOW, Manager(systemd=257), id="default"),
        pytest.param(
            "Version=252\nEnvironment=A=1 XDG_CONFIG_HOME=/cfg B=2\n",
            Manager(systemd=252, config_home=Path("/cfg")),
            id="own-config-home",
        ),
        pytest.param(
            "Version=252\nEnvironment=MY_XDG_CONFIG_HOME=/no\n", Manager(systemd=252), id="other-variable"
        ),
        pytest.param("Version=252\nEnvironment=XDG_CONFIG_HOME=rel\n", Manager(systemd=252), id="relative"),
        pytest.param(Completed((), 1, "", "Failed to connect to bus: No medium found"), None, id="no-bus"),
    ],
)
def test_manager(answer: Completed | str, manager: Manager | None) -> None:
    assert detect_manager(FakeRunner({"systemctl --user show": answer})) == manager


def make(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if text == "/":
            file.mkdir()
        else:
            file.write_text(text)


def test_everything_of_a_full_machine(tmp_path: Path) -> None:
    uid = os.getuid()
    user = pwd.getpwuid(uid).pw_name
    slice_ = f"sys/fs/cgroup/user.slice/user-{uid}.slice"
    make(
        tmp_path,
        {
            "run/systemd/system": "/",
            f"var/lib/systemd/linger/{user}": "",
            "sys/fs/cgroup/cgroup.controllers": "cpu io memory pids\n",
            f"{slice_}/user@{uid}.service/cgroup.controllers": "memory pids\n",
            "sys/fs/selinux/enforce": "1",
            "usr/libexec/podman/quadlet": "",
            "etc/cdi/a.json": '{"kind": "nvidia.com/gpu", "devices": [{"name": "0"}]}',
        },
    )
    (tmp_path / "usr/libexec/podman/quadlet").chmod(0o755)
    runner = FakeRunner({"podman --version": "podman version 5.4.2\n", "systemctl --user show": SHOW})
    host = detect(runner, {"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/7"}, root=tmp_path)
    assert host == Host(
        home=Path("/home/u"),
        config_home=Path("/home/u/.config"),
        state_home=Path("/home/u/.local/state"),
        runtime_dir=Path("/run/user/7"),
        uid=uid,
        user=user,
        podman="5.4.2",
        systemd=257,
        booted=True,
        manager=Manager(systemd=257),
        linger=True,
        controllers=frozenset({"memory", "pids"}),
        cgroup_v2=True,
        generator=tmp_path / "usr/libexec/podman/quadlet",
        cdi=host.cdi,
        selinux=True,
    )
    assert [spec.devices for spec in host.cdi] == [("nvidia.com/gpu=0",)]
    assert len(runner.calls) == 2


def test_nothing_of_an_empty_machine(tmp_path: Path) -> None:
    host = detect(FakeRunner(), {"HOME": "/home/u"}, root=tmp_path)
    assert (host.podman, host.systemd, host.manager, host.linger) == (None, None, None, None)
    assert (host.controllers, host.generator, host.selinux, host.cdi) == (None, None, None, ())
    assert not host.booted
    assert not host.cgroup_v2
    assert host.runtime_dir is None


def test_no_linger_where_systemd_runs(tmp_path: Path) -> None:
    make(tmp_path, {"run/systemd/system": "/"})
    assert detect(FakeRunner(), {"HOME": "/home/u"}, root=tmp_path).linger is False


def test_controllers_of_another_user_are_not_ours(tmp_path: Path) -> None:
    make(tmp_path, {"sys/fs/cgroup/user.slice/user-7.slice/user@7.service/cgroup.controllers": "\n"})
    assert detect_controllers(7, root=tmp_path) == frozenset()
    assert detect_controllers(8, root=tmp_path) is None


def test_generator_is_the_one_that_the_manager_runs(tmp_path: Path) -> None:
    program, link = "usr/libexec/podman/quadlet", "usr/lib/systemd/user-generators/podman-user-generator"
    make(tmp_path, {program: "", link: ""})
    assert find_generator(root=tmp_path) is None
    (tmp_path / program).chmod(0o755)
    assert find_generator(root=tmp_path) == tmp_path / program
    (tmp_path / link).unlink()
    (tmp_path / link).symlink_to(tmp_path / program)
    assert find_generator(root=tmp_path) == tmp_path / link


@pytest.mark.parametrize(
    ("value", "folder"),
    [(None, "/d"), ("", "/d"), ("relative", "/d"), ("./x", "/d"), ("/abs", "/abs"), ("/a b/ü", "/a b/ü")],
)
def test_xdg_rules(value: str | None, folder: str) -> None:
    env = {} if value is None else {"XDG_CONFIG_HOME": value}
    assert xdg_folder(env, "XDG_CONFIG_HOME", Path("/d")) == Path(folder)


def test_home_without_the_variable_is_the_user_databases() -> None:
    assert home_folder({}) == home_folder({"HOME": "relative"}) == Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert home_folder({"HOME": "/home/u"}) == Path("/home/u")


def test_runtime_folder() -> None:
    assert runtime_folder({}) is None
    assert runtime_folder({"XDG_RUNTIME_DIR": ""}) is None
    assert runtime_folder({"XDG_RUNTIME_DIR": "/run/user/7"}) == Path("/run/user/7")
