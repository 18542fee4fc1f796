from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quadgen.errors import UsageError

from .machine import OTHER_SPEC, SPEC, Box, unit

if TYPE_CHECKING:
    from quadgen.deploy.plan import Plan

A = unit("a.container", "a")
B = unit("b.container", "b")
CACHE = unit("cache.volume", "a", "b", body="[Volume]\n")
NEW_A = unit("a.container", "a", body="[Container]\nImage=docker.io/x/y:2\n")


def actions(plan: Plan) -> dict[str, str]:
    return {entry.name: entry.action for entry in plan.entries}


def codes(plan: Plan) -> list[tuple[str, str]]:
    return [(finding.severity, finding.code) for finding in plan.findings]


def edit(box: Box, name: str) -> None:
    file = box.place.folder / name
    file.write_text(file.read_text() + "Label=mine=1\n")


def test_first_installation_creates_everything(box: Box) -> None:
    plan = box.plan([A, B, CACHE])
    assert actions(plan) == {"a.container": "create", "b.container": "create", "cache.volume": "create"}
    assert codes(plan) == []


def test_second_installation_has_nothing_to_do(box: Box) -> None:
    box.install([A, CACHE])
    plan = box.plan([A, CACHE])
    assert set(actions(plan).values()) == {"unchanged"}
    assert plan.changes == ()


def test_update_and_remove(box: Box) -> None:
    box.install([A, B])
    plan = box.plan([NEW_A])
    assert actions(plan) == {"a.container": "update", "b.container": "remove"}
    (entry, _) = plan.changes
    assert "-Image=docker.io/x/y:1" in entry.diff()
    assert "+Image=docker.io/x/y:2" in entry.diff()
    assert entry.service == "a.service"


class TestNames:
    def test_only_the_chosen_service_and_what_it_needs_is_written(self, box: Box) -> None:
        assert actions(box.plan([A, B, CACHE], names=["a"])) == {
            "a.container": "create",
            "cache.volume": "create",
        }

    def test_others_are_left_alone(self, box: Box) -> None:
        box.install([A, B, CACHE])
        plan = box.plan([NEW_A, unit("b.container", "b", body="[Container]\n"), CACHE], names=["a"])
        assert actions(plan) == {
            "a.container": "update",
            "b.container": "unchanged",
            "cache.volume": "unchanged",
        }

    def test_a_name_that_nobody_knows_is_an_error(self, box: Box) -> None:
        box.install([A])
        with pytest.raises(UsageError, match="no service c is in the spec or installed") as caught:
            box.plan([], names=["c"])
        assert caught.value.remedy == "there are: a"


class TestUninstall:
    def test_everything(self, box: Box) -> None:
        box.install([A, B, CACHE])
        assert set(actions(box.plan([])).values()) == {"remove"}

    def test_shared_files_stay_while_another_service_needs_them(self, box: Box) -> None:
        box.install([A, B, CACHE])
        plan = box.plan([], names=["a"])
        assert actions(plan) == {
            "a.container": "remove",
            "b.container": "unchanged",
            "cache.volume": "unchanged",
        }
        assert [entry.reason for entry in plan.entries if entry.name == "cache.volume"] == ["b needs it"]

    def test_shared_files_go_with_the_last_service_that_is_installed(self, box: Box) -> None:
        box.install([A, B, CACHE], names=["a"])
        assert actions(box.plan([], names=["a"])) == {"a.container": "remove", "cache.volume": "remove"}

    @pytest.mark.parametrize("folder", ["containers/systemd", "containers/systemd/quadgen"])
    def test_files_that_a_unit_of_somebody_else_names_stay(self, box: Box, folder: str) -> None:
        box.install([A, CACHE])
        box.put(f".config/{folder}/mine.container", "[Container]\nVolume=cache.volume:/x\n")
        plan = box.plan([])
        assert actions(plan)["cache.volume"] == "unchanged"
        assert actions(plan)["a.container"] == "remove"

    def test_names_that_only_contain_the_files_name_do_not_count(self, box: Box) -> None:
        box.install([A, CACHE])
        box.put(".config/containers/systemd/mine.container", "[Container]\nVolume=my-cache.volume:/x\n")
        assert actions(box.plan([]))["cache.volume"] == "remove"

    def test_other_specs_are_left_alone_unless_all_are_meant(self, box: Box) -> None:
        box.install([A])
        box.install([unit("o.container", "o", spec=OTHER_SPEC)], spec=OTHER_SPEC)
        assert actions(box.plan([])) == {"a.container": "remove", "o.container": "unchanged"}
        assert actions(box.plan([], spec=None, names=["o"])) == {
            "a.container": "unchanged",
            "o.container": "remove",
        }
        assert set(actions(box.plan([], spec=None)).values()) == {"remove"}

    def test_a_kept_service_keeps_its_volume(self, box: Box) -> None:
        box.install([A, CACHE], names=["a"])
        edit(box, "a.container")
        assert actions(box.plan([], names=["a"])) == {"a.container": "edited", "cache.volume": "unchanged"}


class TestEdited:
    def test_is_left_alone_and_shown(self, box: Box) -> None:
        box.install([A])
        edit(box, "a.container")
        plan = box.plan([NEW_A])
        assert actions(plan) == {"a.container": "edited"}
        (finding,) = plan.findings
        assert (finding.severity, finding.code, finding.key) == ("warning", "edited-unit", "service.a")
        assert "-Label=mine=1" in finding.message
        assert "+Image=docker.io/x/y:2" in finding.message
        assert "--overwrite" in finding.remedy
        assert not plan.blocked

    def test_is_overwritten_on_demand(self, box: Box) -> None:
        box.install([A])
        edit(box, "a.container")
        assert actions(box.plan([NEW_A], overwrite=True)) == {"a.container": "update"}
        assert actions(box.plan([], overwrite=True)) == {"a.container": "remove"}

    def test_is_not_removed(self, box: Box) -> None:
        box.install([A])
        edit(box, "a.container")
        plan = box.plan([])
        assert actions(plan) == {"a.container": "edited"}
        assert codes(plan) == [("warning", "edited-unit")]

    def test_an_edit_that_the_spec_now_makes_too_is_none(self, box: Box) -> None:
        box.install([A])
        edit(box, "a.container")
        same = unit("a.container", "a", body="[Container]\nImage=docker.io/x/y:1\nLabel=mine=1\n")
        assert actions(box.plan([same])) == {"a.container": "update"}

    def test_control_characters_do_not_reach_the_terminal(self, box: Box) -> None:
        box.install([A])
        file = box.place.folder / "a.container"
        file.write_bytes(file.read_bytes() + b"# \x1b[31m\xff\n")
        (finding,) = box.plan([NEW_A]).findings
        assert all(char.isprintable() or char in "\n\t" for char in finding.message)


class TestForeign:
    def test_files_in_our_folder_are_left_alone(self, box: Box) -> None:
        box.put(".config/containers/systemd/quadgen/mine.container")
        plan = box.plan([A])
        assert actions(plan) == {"a.container": "create", "mine.container": "foreign"}
        assert codes(plan) == []

    @pytest.mark.parametrize("options", [{}, {"overwrite": True}, {"take_over": True}])
    def test_a_file_in_the_way_is_never_replaced(self, box: Box, options: dict[str, bool]) -> None:
        box.put(".config/containers/systemd/quadgen/a.container")
        plan = box.plan([A], **options)
        assert actions(plan) == {"a.container": "conflict"}
        assert codes(plan) == [("error", "foreign-unit")]

    def test_the_same_in_a_flat_folder(self, flat_box: Box) -> None:
        flat_box.put(".config/containers/systemd/a.container")
        flat_box.put(".config/containers/systemd/mine.container")
        plan = flat_box.plan([A, B])
        assert actions(plan) == {"a.container": "conflict", "b.container": "create"}

    def test_a_link_is_not_ours_to_replace(self, box: Box) -> None:
        box.install([A])
        file = box.place.folder / "a.container"
        kept = file.rename(box.host.home / "a.container")
        file.symlink_to(kept)
        assert actions(box.plan([A])) == {"a.container": "unchanged"}
        assert codes(box.plan([NEW_A])) == [("error", "foreign-unit")]
        assert actions(box.plan([])) == {"a.container": "edited"}


class TestOtherSpec:
    def test_is_a_conflict_unless_told(self, box: Box) -> None:
        box.install([unit("a.container", "a", spec=OTHER_SPEC)], spec=OTHER_SPEC)
        plan = box.plan([NEW_A])
        assert codes(plan) == [("error", "other-spec")]
        assert OTHER_SPEC in plan.findings[0].message
        assert "--take-over" in plan.findings[0].remedy
        assert actions(box.plan([NEW_A], take_over=True)) == {"a.container": "update"}

    def test_a_built_in_service_gives_way_to_a_spec(self, box: Box) -> None:
        built_in = "built-in a"
        box.install([unit("a.container", "a", spec=built_in)], spec=built_in)
        assert actions(box.plan([NEW_A])) == {"a.container": "update"}

    def test_a_spec_does_not_give_way_to_a_built_in_service(self, box: Box) -> None:
        box.install([A])
        plan = box.plan(
            [unit("a.container", "a", spec="built-in a", body="[Container]\n")], spec="built-in a"
        )
        assert codes(plan) == [("error", "other-spec")]

    def test_a_spec_that_is_gone_gives_way(self, box: Box) -> None:
        gone = str(box.host.home / "gone.toml")
        box.install([unit("a.container", "a", spec=gone)], spec=gone)
        assert actions(box.plan([NEW_A])) == {"a.container": "update"}

    def test_the_same_content_is_shared(self, box: Box) -> None:
        theirs = unit("cache.volume", "o", body="[Volume]\n", spec=OTHER_SPEC)
        box.install([theirs], spec=OTHER_SPEC)
        plan = box.plan([A, CACHE])
        assert actions(plan) == {"a.container": "create", "cache.volume": "unchanged"}
        assert (box.place.folder / "cache.volume").read_text() == theirs.text


HAND = "[Container]\nImage=docker.io/hand/made:1\n"


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [
        pytest.param(".config/containers/systemd/a.container", HAND, "hidden-unit", id="base-folder"),
        pytest.param(".config/containers/systemd/alpha/a.container", HAND, "hidden-unit", id="folder-before"),
        pytest.param(".config/containers/systemd/zeta/a.container", HAND, "hiding-unit", id="folder-after"),
        pytest.param("../run/containers/systemd/a.container", HAND, "hidden-unit", id="runtime-folder"),
        pytest.param(
            "../root/etc/containers/systemd/users/a.container", HAND, "hiding-unit", id="admins-folder"
        ),
        pytest.param(".config/containers/systemd/a.kube", "[Kube]\nYaml=x\n", "hidden-unit", id="other-kind"),
        pytest.param(
            ".config/containers/systemd/x.container",
            "[Container]\nServiceName=a\n",
            "hidden-unit",
            id="given-service-name",
        ),
        pytest.param(
            ".config/containers/systemd/quadgen/a.kube",
            "[Kube]\nYaml=x\n",
            "hidden-unit",
            id="foreign-beside",
        ),
        pytest.param(".config/systemd/user/a.service", "[Service]\n", "hidden-unit", id="plain-unit"),
        pytest.param(
            "../root/etc/systemd/user/a.service", "[Service]\n", "hidden-unit", id="admins-plain-unit"
        ),
        pytest.param(
            "../root/usr/lib/systemd/user/a.service", "[Service]\n", "hiding-unit", id="vendors-plain-unit"
        ),
        pytest.param(".config/systemd/user/a.service", "", "masked-unit", id="masked-by-empty-file"),
        pytest.param(".config/containers/systemd/b.container", HAND, None, id="other-name"),
        pytest.param(".config/containers/systemd/a.volume", "[Volume]\n", None, id="other-service"),
        pytest.param(".config/containers/systemd/a.container.d/x.container", HAND, None, id="drop-in-folder"),
        pytest.param(".config/systemd/user/a.service.d/x.conf", "[Service]\n", None, id="plain-drop-in"),
    ],
)
def test_units_elsewhere_that_hide_or_are_hidden(box: Box, path: str, text: str, code: str | None) -> None:
    box.put(path, text)
    plan = box.plan([A])
    severity = "warning" if code == "hiding-unit" else "error"
    assert codes(plan) == ([] if code is None else [(severity, code)])
    if code:
        assert plan.findings[0].key == "service.a"
        assert plan.findings[0].remedy


def test_masking_link(box: Box) -> None:
    link = box.host.config_home / "systemd/user/a.service"
    link.parent.mkdir(parents=True)
    link.symlink_to("/dev/null")
    (finding,) = box.plan([A]).findings
    assert (finding.code, finding.remedy) == ("masked-unit", "systemctl --user unmask a.service")


@pytest.mark.parametrize(("podman", "hidden"), [("5.2.5", False), ("5.3.0", True), (None, True)])
def test_the_runtime_folder_counts_from_5_3(box: Box, podman: str | None, *, hidden: bool) -> None:
    box.with_podman(podman)
    box.put("../run/containers/systemd/a.container", HAND)
    assert box.plan([A]).blocked == hidden


def test_sub_folders_do_not_count_before_4_7(flat_box: Box) -> None:
    flat_box.put(".config/containers/systemd/alpha/a.container", HAND)
    assert codes(flat_box.plan([A])) == []


def test_another_file_of_the_same_service_in_a_flat_folder(flat_box: Box) -> None:
    flat_box.put(".config/containers/systemd/a.kube", "[Kube]\nYaml=x\n")
    assert codes(flat_box.plan([A])) == [("error", "hidden-unit")]


class TestPodmanUpgrade:
    """Podman 4.6 read the base folder only; a newer one reads quadgen's own folder as well."""

    def test_files_move_to_our_own_folder(self, flat_box: Box) -> None:
        flat_box.install([A, CACHE])
        flat_box.with_podman("5.4.2")
        plan = flat_box.plan([A, CACHE])
        assert not plan.blocked
        flat_box.install([A, CACHE])
        assert flat_box.tree() == {"quadgen/a.container": A.text, "quadgen/cache.volume": CACHE.text}
        assert flat_box.plan([A, CACHE]).changes == ()

    def test_edited_ones_stay_and_are_told(self, flat_box: Box) -> None:
        flat_box.install([A])
        edit(flat_box, "a.container")
        flat_box.with_podman("5.4.2")
        assert codes(flat_box.plan([A])) == [("error", "hidden-unit")]

    def test_uninstalling_finds_them(self, flat_box: Box) -> None:
        flat_box.install([A, CACHE])
        flat_box.with_podman("5.4.2")
        flat_box.install([])
        assert flat_box.tree() == {}


def test_scan_survives_a_folder_that_is_not_there(box: Box) -> None:
    assert box.scan().files == ()


def test_spec_path_with_odd_characters_is_told_apart(box: Box) -> None:
    odd = SPEC + "\n[Container]\\"
    box.install([unit("a.container", "a", spec=odd)], spec=odd)
    assert actions(box.plan([], spec=odd)) == {"a.container": "remove"}
    assert actions(box.plan([])) == {"a.container": "unchanged"}
