from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from quadgen.deploy.services import installed_names, installed_services, remembered_names
from quadgen.quadlet.header import stamp

from .served import Home

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_service_is_told_by_its_own_files(home: Home) -> None:
    path = home.install("vllm-a")
    (service,) = installed_services(home.env)
    assert (service.name, service.path, service.model) == ("vllm-a", path, "org/Model-7B")
    assert (service.unit, service.watch) == ("vllm-a.service", "quadgen-watch@vllm-a.service")
    assert service.probe is not None
    assert service.probe.server.names == ("qwen", "q")


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ({}, "127.0.0.1:8000"),
        ({"url": "https://[::1]:8443", "root_path": "/llm"}, "https://[::1]:8443/llm"),
        ({"uds": "/run/user/1000/vllm.sock"}, "/run/user/1000/vllm.sock"),
    ],
    ids=["http", "https", "socket"],
)
def test_the_address_is_what_people_type(home: Home, server: dict[str, Any], address: str) -> None:
    home.install("vllm-a", **server)
    assert installed_services(home.env)[0].address == address


@pytest.mark.parametrize(
    ("body", "model", "address"),
    [
        ("[Container]\nExec=org/m --port 8000\nPublishPort=127.0.0.1:81:8000\n", "org/m", "127.0.0.1:81"),
        ('[Container]\nExec="/srv/my \\"best\\" model" --x\n', '/srv/my "best" model', ""),
        (
            "[Container]\nExec=/srv/100%%\nPublishPort=[::1]:81:80\nPublishPort=:82:80\n",
            "/srv/100%",
            "[::1]:81, :82",
        ),
        ("[Container]\nImage=x\n", "", ""),
    ],
    ids=["plain", "quoted", "several addresses", "nothing"],
)
def test_without_a_probe_file_the_unit_file_tells(home: Home, body: str, model: str, address: str) -> None:
    home.install("vllm-a", body=body, probe=False)
    (service,) = installed_services(home.env)
    assert (service.probe, service.problem, service.model, service.address) == (None, "", model, address)


def test_a_damaged_probe_file_hides_no_service(home: Home) -> None:
    home.install("vllm-a").with_suffix(".probe").write_text("{")
    (service,) = installed_services(home.env)
    assert service.probe is None
    assert "vllm-a.probe: it is not JSON" in service.problem
    assert service.model == "org/Model-7B"


def test_only_quadgens_own_services_count(home: Home) -> None:
    home.install("vllm-b")
    home.install("vllm-a", flat=True)
    (home.base / "mine.container").write_text("[Container]\nImage=x\n")
    (home.folder / "shared.container").write_text(stamp("[Container]\n", spec="/s", services=["vllm-a", "b"]))
    (home.folder / "cache.volume").write_text(stamp("[Volume]\n", spec="/s", services=["cache"]))
    assert installed_names(home.env) == ["vllm-a", "vllm-b"]


def test_nothing_is_installed_where_there_are_no_folders(home: Home) -> None:
    assert (installed_services(home.env), remembered_names(home.env)) == ((), [])


def test_services_with_a_history_are_remembered(home: Home) -> None:
    home.history("vllm-old")
    assert remembered_names(home.env) == ["vllm-old"]
