from __future__ import annotations

import pytest

from quadgen.host.services import generated_service, is_quadlet, volume_name


@pytest.mark.parametrize(
    ("name", "service"),
    [
        ("a.container", "a.service"),
        ("a.kube", "a.service"),
        ("a.volume", "a-volume.service"),
        ("a.network", "a-network.service"),
        ("a.pod", "a-pod.service"),
        ("a.image", "a-image.service"),
        ("a.build", "a-build.service"),
        ("a.artifact", "a-artifact.service"),
        ("a.b-c.container", "a.b-c.service"),
        ("a@.container", "a@.service"),
        ("a.service", None),
        ("a.conf", None),
        ("container", None),
        ("", None),
    ],
)
def test_service_of_a_file(name: str, service: str | None) -> None:
    assert generated_service(name, "") == service
    assert is_quadlet(name) == (service is not None)


@pytest.mark.parametrize(
    ("text", "service"),
    [
        ("[Container]\nServiceName=x\n", "x.service"),
        ("[Container]\nServiceName = x \nServiceName=y\n", "y.service"),
        ("[Container]\nServiceName=x\n[Unit]\n[Container]\nServiceName=\n", "a.service"),
        ("[Service]\nServiceName=x\n", "a.service"),
        ("[Container]\n#ServiceName=x\nServiceNames=y\n", "a.service"),
    ],
)
def test_given_service_name(text: str, service: str) -> None:
    assert generated_service("a.container", text) == service


@pytest.mark.parametrize(
    ("name", "text", "volume"),
    [
        ("cache.volume", "[Volume]\n", "systemd-cache"),
        ("cache.volume", "[Volume]\nVolumeName=data\n", "data"),
        ("cache.container", "", None),
    ],
)
def test_volume_that_a_file_makes(name: str, text: str, volume: str | None) -> None:
    assert volume_name(name, text) == volume
