from __future__ import annotations

import pytest

from quadgen.quadlet.keys import find_key, key_names, section_names, section_since, systemd_since
from quadgen.quadlet.version import NEWEST, PodmanVersion


def every_key() -> list[tuple[str, str]]:
    return [
        (section, name)
        for section in section_names()
        if section_since(section)
        for name in key_names(section)
    ]


def test_the_sections_that_quadgen_writes_are_there() -> None:
    assert set(section_names()) == {
        *("Container", "Volume", "Network", "Image", "Pod", "Build", "Quadlet", "Install"),
        *("Unit", "Service"),
    }


@pytest.mark.parametrize(("section", "name"), every_key(), ids="-".join)
def test_every_row_is_complete(section: str, name: str) -> None:
    key = find_key(section, name)
    assert key
    since = section_since(section)
    assert since
    assert PodmanVersion(6, 0) >= key.since >= since
    assert key.form is None or key.form.startswith("--")
    assert key.form_since is None or key.form_since < key.since


@pytest.mark.parametrize(
    ("section", "name"),
    [("Container", "image"), ("Container", "Restart"), ("Kube", "Yaml"), ("Service", "Restart")],
)
def test_names_are_matched_to_the_letter_and_in_their_section(section: str, name: str) -> None:
    assert find_key(section, name) is None


@pytest.mark.parametrize(
    ("section", "name", "since"),
    [
        ("Service", "Restart", 252),
        ("Service", "RestartSteps", 257),
        ("Service", "ExecReloadPost", 262),
        ("Unit", "ConditionVersion", 262),
        ("Unit", "Upholds", 252),
        ("Service", "Restat", None),
        ("Unit", "Restart", None),
    ],
)
def test_systemds_own_names_have_their_release(section: str, name: str, since: int | None) -> None:
    assert systemd_since(section, name) == since


def test_keys_that_were_new_in_the_newest_release() -> None:
    new = {name for section, name in every_key() if (key := find_key(section, name)) and key.since == NEWEST}
    assert new == {"AppArmor"}
