from __future__ import annotations

import errno
import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quadgen.deploy.machine import machine_findings
from quadgen.deploy.needs import Needs, missing_for_start
from quadgen.errors import HostError
from quadgen.host.cdi import CdiSpec
from quadgen.host.facts import Host, Manager
from quadgen.host.ports import is_address, listen_error, listener
from quadgen.host.run import Completed, FakeRunner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.findings import Finding

GOOD = Host(
    home=Path("/home/u"),
    config_home=Path("/home/u/.config"),
    state_home=Path("/home/u/.local/state"),
    runtime_dir=Path("/"),
    user="u",
    podman="5.4.2",
    systemd=257,
    manager=Manager(systemd=257),
    linger=True,
    generator=Path("/usr/libexec/podman/quadlet"),
)


def missing(
    needs: Needs, host: Host = GOOD, runner: FakeRunner | None = None, **options: Any
) -> list[Finding]:
    return missing_for_start(runner or FakeRunner(), host, [needs], **options)


def test_a_good_machine_lacks_nothing() -> None:
    assert missing(Needs(service="a")) == []


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        pytest.param({"podman": None}, "no-podman", "not installed", id="no-podman"),
        pytest.param({"podman": "4.3.1"}, "old-podman", "4.3.1 has no Quadlet", id="debian-12"),
        pytest.param({"generator": None}, "no-generator", "5.4.2", id="no-generator"),
        pytest.param(
            {"systemd": None, "manager": None}, "no-systemd", "does not run systemd", id="no-systemd"
        ),
        pytest.param({"booted": False, "manager": None}, "no-systemd", "does not run", id="container"),
        pytest.param({"manager": None, "runtime_dir": None}, "no-user-manager", "su or sudo", id="su-shell"),
        pytest.param(
            {"manager": None, "runtime_dir": Path("/not/there")},
            "no-user-manager",
            "does not exist",
            id="no-session",
        ),
        pytest.param({"manager": None}, "no-user-manager", "does not answer", id="no-answer"),
        pytest.param(
            {"manager": Manager(systemd=257, config_home=Path("/cfg"))},
            "other-config-home",
            "/cfg",
            id="config-home",
        ),
        pytest.param({"linger": False}, "no-linger", "do not start at boot", id="no-linger"),
        pytest.param({"cgroup_v2": False}, "no-cgroup-v2", "cgroup v1", id="cgroup-v1"),
    ],
)
def test_what_the_machine_lacks(change: dict[str, Any], code: str, words: str) -> None:
    (finding,) = machine_findings(replace(GOOD, **change))
    assert (finding.severity, finding.code) == ("warning", code)
    assert words in finding.message
    assert finding.remedy


@pytest.mark.parametrize("linger", [None, True])
def test_unknown_linger_is_no_finding(*, linger: bool | None) -> None:
    assert list(machine_findings(replace(GOOD, linger=linger))) == []


GPU = "nvidia.com/gpu"
SPEC = Path("/etc/cdi/nvidia.yaml")


@pytest.mark.parametrize(
    ("specs", "words", "remedy"),
    [
        pytest.param(
            (),
            "there is no CDI spec of nvidia.com/gpu",
            "container toolkit, then: sudo nvidia-ctk",
            id="none",
        ),
        pytest.param(
            (CdiSpec(SPEC, GPU, ("0", "all")),),
            "there are nvidia.com/gpu=0, nvidia.com/gpu=all",
            "nvidia-ctk cdi generate",
            id="other-names",
        ),
        pytest.param((CdiSpec(SPEC, GPU, ()),), "its spec is empty", "nvidia-ctk", id="no-names"),
        pytest.param(
            (CdiSpec(SPEC, names=(), problem="empty"),), "its spec is empty", "nvidia-ctk", id="empty-file"
        ),
        pytest.param(
            (CdiSpec(SPEC, problem="not readable by this user", denied=True),),
            "/etc/cdi/nvidia.yaml is not readable by this user",
            "sudo chmod a+rX /etc/cdi/nvidia.yaml",
            id="unreadable",
        ),
        pytest.param(
            (CdiSpec(SPEC, "amd.com/gpu", ("0",)),), "there is no CDI spec of", "toolkit", id="other-kind"
        ),
    ],
)
def test_why_there_is_no_such_device(specs: tuple[CdiSpec, ...], words: str, remedy: str) -> None:
    (finding,) = missing(Needs(service="a", cdi=("nvidia.com/gpu=7",)), replace(GOOD, cdi=specs))
    assert (finding.code, finding.key) == ("no-cdi-device", "service.a")
    assert words in finding.message
    assert remedy in finding.remedy


@pytest.mark.parametrize(
    "specs",
    [
        pytest.param((CdiSpec(SPEC, GPU, ("0", "7")),), id="there"),
        pytest.param((CdiSpec(SPEC, problem="a layout that quadgen cannot read"),), id="unknown-layout"),
    ],
)
def test_a_device_that_may_be_there_is_not_missed(specs: tuple[CdiSpec, ...]) -> None:
    assert missing(Needs(service="a", cdi=("nvidia.com/gpu=7",)), replace(GOOD, cdi=specs)) == []


def test_bind_sources(tmp_path: Path) -> None:
    there, lost, odd = tmp_path / "there", tmp_path / "lost", tmp_path / "o'd d"
    there.mkdir()
    first, second = missing(Needs(service="a", binds=(there, lost, odd)))
    assert (first.code, first.remedy) == ("no-bind-source", f"mkdir -p {lost}")
    assert second.remedy == f"""mkdir -p '{tmp_path}/o'"'"'d d'"""


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


class TestPorts:
    def test_a_taken_port_names_its_owner(self, taken: int) -> None:
        (finding,) = missing(Needs(service="a", listens=(("127.0.0.1", taken),)))
        assert finding.code == "no-port"
        assert finding.message.startswith(f"127.0.0.1:{taken} is already used by process {os.getpid()} (")

    def test_all_addresses_meet_one(self, taken: int) -> None:
        (finding,) = missing(Needs(service="a", listens=(("", taken),)))
        assert finding.message.startswith(f"*:{taken} is already used")

    def test_a_running_service_has_its_own_ports(self, taken: int) -> None:
        assert missing(Needs(service="a", listens=(("127.0.0.1", taken),)), running=["a"]) == []

    def test_another_address_is_free(self, taken: int) -> None:
        assert missing(Needs(service="a", listens=(("127.0.0.2", taken), ("127.0.0.1", 0)))) == []

    def test_names_are_left_to_podman(self, taken: int) -> None:
        assert missing(Needs(service="a", listens=(("localhost", taken),))) == []

    def test_an_address_of_another_machine(self) -> None:
        (finding,) = missing(Needs(service="a", listens=(("192.0.2.7", 8000),)))
        assert finding.message == "192.0.2.7:8000: this machine has no such address"

    @pytest.mark.parametrize(
        ("number", "words"),
        [
            (errno.EADDRINUSE, "[::1]:80 is already used by"),
            (errno.EACCES, "only root may use ports this low"),
            (errno.EADDRNOTAVAIL, "this machine has no such address"),
            (errno.EAFNOSUPPORT, "[::1]:80 cannot be used: Address family not supported"),
        ],
    )
    def test_reasons(self, monkeypatch: pytest.MonkeyPatch, number: int, words: str) -> None:
        def refuse(*_: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(socket.socket, "bind", refuse)
        assert listen_error("::1", 80) == number
        (finding,) = missing(Needs(service="a", listens=(("::1", 80),)))
        assert words in finding.message
        assert finding.remedy

    def test_nobody_listens_on_a_free_port(self) -> None:
        assert listener(1) == "another process"

    @pytest.mark.parametrize(
        ("text", "is_one"),
        [("127.0.0.1", True), ("::", True), ("fe80::1%eth0", True), ("localhost", False), ("", False)],
    )
    def test_addresses(self, text: str, *, is_one: bool) -> None:
        assert is_address(text) == is_one


class TestSecrets:
    def test_one_call_finds_all_that_are_missing(self) -> None:
        runner = FakeRunner({"podman secret ls": "vllm-key\nother\n"})
        needs = [
            Needs(service="a", secrets=("vllm-key", "hf-token")),
            Needs(service="b", secrets=("hf-token", "it's")),
        ]
        first, second = missing_for_start(runner, GOOD, needs)
        assert len(runner.calls) == 1
        assert (first.code, first.key) == ("no-secret", "service.a")
        assert first.remedy == "systemd-ask-password -n hf-token | podman secret create hf-token -"
        assert second.key == "service.b"
        assert '"\'"' in second.remedy

    def test_a_podman_that_fails_is_told(self) -> None:
        runner = FakeRunner({"podman secret ls": Completed((), 125, "", "Error: no storage\n")})
        (finding,) = missing(Needs(service="a", secrets=("x",)), runner=runner)
        assert (finding.code, finding.message) == (
            "secrets-unknown",
            "podman secret failed: Error: no storage",
        )

    def test_without_podman_nothing_is_asked(self) -> None:
        runner = FakeRunner()
        findings = missing(Needs(service="a", secrets=("x",), image="y"), replace(GOOD, podman=None), runner)
        assert [f.code for f in findings] == ["no-podman"]
        assert runner.calls == []


class TestImages:
    def test_an_absent_image(self) -> None:
        runner = FakeRunner({"podman image exists": Completed((), 1)})
        (finding,) = missing(Needs(service="a", image="docker.io/x/y:1"), runner=runner)
        assert (finding.code, finding.remedy) == ("no-image", "podman pull docker.io/x/y:1")

    def test_a_present_one(self) -> None:
        assert missing(Needs(service="a", image="x"), runner=FakeRunner({"podman image exists": ""})) == []

    def test_a_podman_that_hangs(self) -> None:
        runner = FakeRunner({"podman image exists": HostError("podman image did not end within 30 s")})
        (finding,) = missing(Needs(service="a", image="x"), runner=runner)
        assert finding.code == "image-unknown"
