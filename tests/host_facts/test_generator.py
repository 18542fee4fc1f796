from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from quadgen.host.generator import Message, dry_run
from quadgen.host.run import Completed, FakeRunner

if TYPE_CHECKING:
    from collections.abc import Sequence

GENERATOR = Path("/usr/libexec/podman/quadlet")
TEXT = "[Container]\nImage=docker.io/x/y:1\n"
FILES = {"a.container": TEXT, "b.container": TEXT}
MADE_B = "---b.service---\n[Service]\n\n"
MADE_BOTH = "---a.service---\n[Service]\n\n" + MADE_B


def fake(status: int = 0, stdout: str = MADE_BOTH, stderr: str = "") -> FakeRunner:
    return FakeRunner({str(GENERATOR): Completed((), status, stdout, stderr)})


UNKNOWN_KEY = Message(
    "a.container", "unsupported key 'Shmsize' in group 'Container'", error=True, key="Container.Shmsize"
)
NOT_FOUND = Message("a.container", "requested Quadlet source x.volume was not found", error=True)
NO_UNIT = "file contains line 3: “junk” which is not a key-value pair, group, or comment"


@pytest.mark.parametrize(
    ("status", "stderr", "messages"),
    [
        pytest.param(
            0,
            "quadlet-generator[7]: Error converting 'a.container', ignoring: "
            "unsupported key 'Shmsize' in group 'Container' in /tmp/q/0/a.container\n",
            [UNKNOWN_KEY],
            id="4.4-exit-0",
        ),
        pytest.param(
            1,
            "quadlet-generator[7]: Loading source unit file /tmp/q/0/a.container\n"
            "quadlet-generator[7]: Loading source unit file /tmp/q/0/b.container\n"
            "quadlet-generator[7]: converting \"mine.container\": invalid KillMode 'process'\n"
            "converting \"a.container\": unsupported key 'Shmsize' in group 'Container' "
            "in /tmp/q/0/a.container\n",
            [UNKNOWN_KEY],
            id="5.4-joined",
        ),
        pytest.param(
            1,
            'quadlet-generator[7]: converting "a.container": '
            "requested Quadlet source x.volume was not found\n"
            "quadlet-generator[7]: processing encountered some errors\n",
            [NOT_FOUND],
            id="5.8-each",
        ),
        pytest.param(
            1,
            f'quadlet-generator[7]: error loading "/tmp/q/0/a.container", {NO_UNIT}\n',
            [Message("a.container", NO_UNIT, error=True)],
            id="unparsable",
        ),
    ],
)
def test_errors_of_every_release_name_file_and_key(status: int, stderr: str, messages: list[Message]) -> None:
    done = dry_run(fake(status, MADE_B, stderr), GENERATOR, FILES)
    assert list(done.messages) == messages
    assert done.missing == ()
    findings = list(done.findings())
    assert [finding.code for finding in findings] == ["quadlet-error"]
    assert findings[0].message.startswith("a.container: Quadlet says: ")
    assert findings[0].remedy


def test_warnings_do_not_stop() -> None:
    text = 'a.container specifies the image "y" which not a fully qualified image name. Bad.'
    done = dry_run(fake(0, MADE_BOTH, f"quadlet-generator[7]: Warning: {text}\n"), GENERATOR, FILES)
    assert [(f.severity, f.message) for f in done.findings()] == [
        ("warning", f"a.container: Quadlet says: {text}")
    ]


def test_errors_of_other_peoples_files_are_theirs() -> None:
    stderr = (
        "quadlet-generator[7]: converting \"mine.container\": invalid KillMode 'process'\n"
        'Warning: xa.container specifies the image "y"\n'
    )
    done = dry_run(fake(1, MADE_BOTH, stderr), GENERATOR, FILES)
    assert list(done.findings()) == []


def test_files_beside_can_only_warn() -> None:
    stderr = "quadlet-generator[7]: converting \"old.container\": invalid KillMode 'process'\n"
    done = dry_run(fake(1, MADE_BOTH, stderr), GENERATOR, FILES, beside={"old.container": TEXT})
    assert [(f.severity, f.code) for f in done.findings()] == [("warning", "quadlet-warning")]


@pytest.mark.parametrize("status", [0, 1])
def test_a_service_that_is_not_made_is_an_error_whatever_the_exit_status(status: int) -> None:
    done = dry_run(fake(status, MADE_B), GENERATOR, FILES)
    assert done.missing == ("a.container",)
    (finding,) = done.findings()
    assert (finding.severity, finding.code) == ("error", "quadlet-nothing-made")
    assert "a.container" in finding.message


def test_nothing_made_repeats_the_generators_last_words() -> None:
    done = dry_run(fake(2, "", "panic: runtime error\n"), GENERATOR, {"a.container": TEXT})
    assert [f.message for f in done.findings()] == [
        "a.container: Quadlet makes no service of it: panic: runtime error"
    ]


def test_a_broken_file_beside_is_named_as_the_culprit() -> None:
    stderr = f'quadlet-generator[7]: error loading "/tmp/q/0/mine.container", {NO_UNIT}\n'
    done = dry_run(fake(1, "", stderr), GENERATOR, {"a.container": TEXT}, beside={"mine.container": "junk\n"})
    assert [(f.severity, f.message) for f in done.findings()] == [
        ("warning", f"mine.container: Quadlet says: {NO_UNIT}"),
        (
            "error",
            f"a.container: Quadlet makes no service of it: mine.container spoils the folder, since {NO_UNIT}",
        ),
    ]


def test_files_that_quadlet_does_not_read_need_no_service() -> None:
    done = dry_run(
        fake(0, MADE_B), GENERATOR, {"b.container": TEXT, "b.probe": "x", "w@.service": "[Unit]\n"}
    )
    assert list(done.findings()) == []


def test_volumes_and_given_names_have_their_own_service() -> None:
    files = {
        "cache.volume": "[Volume]\n",
        "c.container": "[Container]\nServiceName=other\n[Service]\nServiceName=no\n",
        "n.network": "[Network]\n",
    }
    made = "---cache-volume.service---\n---other.service---\n---n-network.service---\n"
    assert list(dry_run(fake(0, made), GENERATOR, files).findings()) == []


def test_the_flag_that_4_4_lacks_is_left_out_there() -> None:
    words = f"{GENERATOR} -dryrun -user"
    runner = FakeRunner(
        {
            f"{words} -no-kmsg-log": Completed(
                (), 2, "", "flag provided but not defined: -no-kmsg-log\nUsage\n"
            ),
            words: Completed((), 0, MADE_BOTH),
        }
    )
    assert list(dry_run(runner, GENERATOR, FILES).findings()) == []
    assert len(runner.calls) == 2


class Looking(FakeRunner):
    """Looks at the folders that it is given while they are there."""

    def run(self, argv: Sequence[str], **options: object) -> Completed:
        env = options["env"]
        assert isinstance(env, dict)
        folders = [Path(name) for name in env["QUADLET_UNIT_DIRS"].split(":")]
        assert all(folder.is_absolute() for folder in folders)
        self.seen = [
            {str(f.relative_to(folder)): f.read_text() for f in sorted(folder.rglob("*")) if f.is_file()}
            for folder in folders
        ]
        return Completed(tuple(argv), 0, MADE_BOTH)


class LookingRunner(Looking):
    seen: list[dict[str, str]]

    def __init__(self) -> None:
        super().__init__()
        self.seen = []


def put(file: Path, text: str = "x") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize("recursive", [True, False])
def test_other_units_of_the_machine_are_there_and_replaced_ones_are_not(
    tmp_path: Path, *, recursive: bool
) -> None:
    config = tmp_path / "config"
    put(config / "lan.network", "lan")
    put(config / "README.txt")
    put(config / "a.container.d/10-more.conf", "more")
    put(config / "quadgen/a.container", "old")
    put(config / "quadgen/gone.volume", "gone")
    put(config / "quadgen/mine.volume", "mine")
    runner = LookingRunner()
    leave_out = {config / "quadgen/a.container", config / "quadgen/gone.volume"}
    folders = [tmp_path / "not-there", config, config]
    dry_run(
        runner,
        GENERATOR,
        FILES,
        beside={"kept.volume": "kept"},
        folders=folders,
        leave_out=leave_out,
        recursive=recursive,
    )
    top = {"lan.network": "lan", "a.container.d/10-more.conf": "more"}
    below = [{"mine.volume": "mine"}] if recursive else []
    assert runner.seen == [{**FILES, "kept.volume": "kept"}, top, *below]
