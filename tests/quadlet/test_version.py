from __future__ import annotations

import pytest

from quadgen.errors import TargetError
from quadgen.quadlet.version import DEFAULT, NEWEST, OLDEST, SUPPORTED, PodmanVersion


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5.4", PodmanVersion(5, 4)),
        ("5.4.2", PodmanVersion(5, 4, 2)),
        (" 5.4.2\n", PodmanVersion(5, 4, 2)),
        ("podman version 5.4.2", PodmanVersion(5, 4, 2)),
        ("v5.8.0", PodmanVersion(5, 8, 0)),
        ("4.9.4-rhel", PodmanVersion(4, 9, 4)),
        ("5.4.2+ds1-2", PodmanVersion(5, 4, 2)),
        ("6.0.0-dev", PodmanVersion(6, 0, 0)),
        ("4.4", PodmanVersion(4, 4)),
        ("10.11.12", PodmanVersion(10, 11, 12)),
    ],
)
def test_parse(text: str, expected: PodmanVersion) -> None:
    assert PodmanVersion.parse(text) == expected


@pytest.mark.parametrize("text", ["", "5", "five", "5.4.2.1", "5.x", "podman 5.4", "-5.4", "5.4 beta"])
def test_what_names_no_release_is_refused(text: str) -> None:
    with pytest.raises(TargetError, match="is not a Podman version"):
        PodmanVersion.parse(text)


@pytest.mark.parametrize("text", ["4.3", "4.3.1", "3.4.4", "0.1"])
def test_podman_without_quadlet_is_refused(text: str) -> None:
    with pytest.raises(
        TargetError, match=rf"Podman {text} has no Quadlet, which came with Podman 4\.4"
    ) as caught:
        PodmanVersion.parse(text)
    assert "Debian 13" in caught.value.remedy


def test_releases_are_ordered_and_an_unknown_patch_comes_first() -> None:
    names = ["4.4", "4.4.0", "4.9.5", "4.10", "5.0", "5.0.0", "5.0.3", "5.8", "6.0"]
    versions = [PodmanVersion.parse(name) for name in names]
    assert sorted(versions, reverse=True) == versions[::-1]
    assert [str(version) for version in versions] == names


@pytest.mark.parametrize(
    ("target", "affected"),
    [
        ("4.9.5", False),
        ("5.0", True),
        ("5.0.0", True),
        ("5.8", True),
        ("5.8.1", True),
        ("5.8.2", False),
        ("5.9", False),
    ],
)
def test_an_unknown_patch_may_have_what_any_patch_has(target: str, affected: bool) -> None:
    assert PodmanVersion.parse(target).may_be(PodmanVersion(5, 0), PodmanVersion(5, 8, 2)) is affected


def test_what_only_a_later_patch_has_may_be_there_too() -> None:
    assert PodmanVersion(5, 8).may_be(PodmanVersion(5, 8, 2), PodmanVersion(6, 0))
    assert not PodmanVersion(5, 8, 1).may_be(PodmanVersion(5, 8, 2), PodmanVersion(6, 0))


def test_supported_releases() -> None:
    assert SUPPORTED[0] == OLDEST
    assert SUPPORTED[-1] == NEWEST
    assert len(SUPPORTED) == 15
    assert DEFAULT in SUPPORTED
