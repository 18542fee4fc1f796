from __future__ import annotations

import pytest

from quadgen.quadlet.assignment import Assignment, Value
from quadgen.quadlet.lower import Lowered, lower
from quadgen.quadlet.version import SUPPORTED, PodmanVersion

PATH = ("service", "x")


def lowered(version: str, *given: Assignment) -> Lowered:
    return lower(given, PodmanVersion.parse(version))


def lines(version: str, *given: Assignment) -> list[str]:
    """The lines of all sections; nothing may be refused."""
    done = lowered(version, *given)
    assert not done.findings
    return [line for section in done.sections for line in section.lines]


def set_key(name: str, value: Value, *, raw: bool = False, section: str = "Container") -> Assignment:
    return Assignment(section, name, value, raw=raw, path=(*PATH, name))


# Key, value, target, lines.
WRITTEN: dict[str, tuple[str, Value, str, list[str]]] = {
    "key of the target": ("ShmSize", "16g", "4.7", ["ShmSize=16g"]),
    "key after the target": ("ShmSize", "16g", "4.6", ["PodmanArgs=--shm-size=16g"]),
    "flag with more words": ("SecurityLabelType", "x", "4.4", ["PodmanArgs=--security-opt=label=type:x"]),
    "label instead of a key": (
        *("AutoUpdate", "registry", "4.5"),
        ["PodmanArgs=--label=io.containers.autoupdate=registry"],
    ),
    "boolean as a constant flag": (
        *("SecurityLabelDisable", True, "4.4"),
        ["PodmanArgs=--security-opt=label=disable"],
    ),
    "false as no flag": ("SecurityLabelDisable", False, "4.4", []),
    "boolean as a flag with its value": ("HttpProxy", False, "5.6", ["PodmanArgs=--http-proxy=false"]),
    "every value of a list": (
        "DNS",
        ("1.1.1.1", "::1"),
        "4.4",
        ["PodmanArgs=--dns=1.1.1.1", "PodmanArgs=--dns=::1"],
    ),
    "number": ("StopTimeout", 120, "5.0", ["StopTimeout=120"]),
    "flag that came later than Quadlet": ("Retry", 3, "5.0", ["PodmanArgs=--retry=3"]),
    "no words": ("Exec", (), "5.4", []),
    "words": ("Exec", ("a", "b c"), "5.4", ['Exec=a "b c"']),
    "names with values": (
        "Environment",
        (("A", "b c"), ("D", "")),
        "5.4",
        ['Environment="A=b c"', "Environment=D="],
    ),
    "list of words in JSON": ("Entrypoint", ("vllm", "é"), "5.4", ['Entrypoint=["vllm", "é"]']),
    "list of words in JSON before its key": (
        *("Entrypoint", ("a",), "4.9"),
        ['PodmanArgs="--entrypoint=[\\"a\\"]"'],
    ),
    "single ulimit on 4.7": ("Ulimit", ("stack=1",), "4.7", ["Ulimit=stack=1"]),
    "ulimits on 4.7": (
        *("Ulimit", ("stack=1", "memlock=-1"), "4.9.5"),
        ["PodmanArgs=--ulimit=stack=1", "PodmanArgs=--ulimit=memlock=-1"],
    ),
    "ulimits on 5.0": ("Ulimit", ("stack=1", "core=0"), "5.0", ["Ulimit=stack=1", "Ulimit=core=0"]),
    "bare name on 5.5": (
        "Environment",
        ("HF_TOKEN", "A=b"),
        "5.5",
        ["PodmanArgs=--env=HF_TOKEN", "Environment=A=b"],
    ),
    "bare name on 5.6": ("Environment", ("HF_TOKEN",), "5.6", ["Environment=HF_TOKEN"]),
    "bare label on 5.5": ("Label", ("x",), "5.5", ["PodmanArgs=--label=x"]),
    "mount on 4.4": (
        "Mount",
        "type=tmpfs,destination=/x",
        "4.4",
        ["PodmanArgs=--mount=type=tmpfs,destination=/x"],
    ),
    "mount on 4.5": ("Mount", "type=tmpfs,destination=/x", "4.5", ["Mount=type=tmpfs,destination=/x"]),
    "mount that makes 4.7 panic": (
        *("Mount", "type=bind,source=/a,destination=/b,ro", "4.7"),
        ["RequiresMountsFor=/a", "PodmanArgs=--mount=type=bind,source=/a,destination=/b,ro"],
    ),
    "mount with ro on 4.8": (
        *("Mount", "type=bind,source=/a,destination=/b,ro", "4.8"),
        ["Mount=type=bind,source=/a,destination=/b,ro"],
    ),
    "mount that makes 5.6 panic": (
        "Mount",
        "type=volume,target=/x",
        "5.6",
        ["PodmanArgs=--mount=type=volume,target=/x"],
    ),
    "mount with quotes of CSV": (
        *("Mount", 'type=bind,"source=/a,b",destination=/b', "5.4"),
        [r'Mount="type=bind,\"source=/a,b\",destination=/b"'],
    ),
    "source with blanks": (
        *("Volume", ("/srv/my models:/m:ro",), "5.8"),
        ['RequiresMountsFor="/srv/my models"', 'PodmanArgs="--volume=/srv/my models:/m:ro"'],
    ),
    "source with an expanded character": ("Volume", ("/srv/50%:/m",), "5.4", ["Volume=/srv/50%%:/m"]),
    "volume of a unit": ("Volume", ("hf.volume:/x",), "4.4", ["Volume=hf.volume:/x"]),
    "volume without source": ("Volume", ("/x y",), "4.4", ["Volume=/x y"]),
    "health check that ends in a quote": (
        *("HealthCmd", 'curl "x"', "5.8.1"),
        [r'PodmanArgs="--health-cmd=curl \"x\""'],
    ),
    "health check with a line break": ("HealthCmd", "a\nb", "5.8", [r'PodmanArgs="--health-cmd=a\nb"']),
    "health check in exec form": ("HealthCmd", '["CMD", "x"]', "5.8", ['HealthCmd=["CMD", "x"]']),
    "empty entrypoint": ("Entrypoint", "", "5.4", ["PodmanArgs=--entrypoint="]),
    "readiness from the health check on 5.0": ("Notify", "healthy", "5.0", ["Notify=healthy"]),
    "readiness from the health check on 4.7": ("Notify", "healthy", "4.7", ["PodmanArgs=--sdnotify=healthy"]),
    "readiness from the container": ("Notify", True, "4.4", ["Notify=true"]),
    "optional device": ("AddDevice", ("-/dev/fuse",), "4.5.1", ["AddDevice=-/dev/fuse"]),
    "journald where all goes there": ("LogDriver", "journald", "4.4", []),
    "another log driver on 4.4": ("LogDriver", "k8s-file", "4.4", ["PodmanArgs=--log-driver=k8s-file"]),
    "user by name on 4.7": ("User", "vllm", "4.7", ["PodmanArgs=--user=vllm"]),
    "user by number on 4.7": ("User", "1000", "4.7", ["User=1000"]),
    "octal user on 4.7": ("User", "0100", "4.7", ["PodmanArgs=--user=0100"]),
    "user by name on 4.8": ("User", "vllm", "4.8", ["User=vllm"]),
    "group alone by name on 4.7": ("Group", "render", "4.7", ["PodmanArgs=--user=0:render"]),
    "read-only on 4.7": ("ReadOnly", True, "4.7", ["ReadOnly=true", "PodmanArgs=--read-only-tmpfs=true"]),
    "read-only on 4.8": ("ReadOnly", True, "4.8", ["ReadOnly=true"]),
    "not read-only on 4.7": ("ReadOnly", False, "4.7", ["ReadOnly=false"]),
    "port of another protocol on 5.2": (
        "PublishPort",
        ("1:1/sctp",),
        "5.2",
        ["PodmanArgs=--publish=1:1/sctp"],
    ),
    "port of another protocol on 5.3": ("PublishPort", ("1:1/sctp",), "5.3", ["PublishPort=1:1/sctp"]),
    "port with an IPv6 address on 4.4": ("PublishPort", ("[::1]:80:80",), "4.4", ["PublishPort=[::1]:80:80"]),
    "random port on 4.4": ("PublishPort", ("127.0.0.1::8000",), "4.4", ["PublishPort=127.0.0.1::8000"]),
    "exposed port of another protocol": (
        "ExposeHostPort",
        ("1/sctp",),
        "5.8",
        ["PodmanArgs=--expose=1/sctp"],
    ),
    "tmpfs with colons on 5.2": ("Tmpfs", ("/x:a:b",), "5.2", ["PodmanArgs=--tmpfs=/x:a:b"]),
    "cgroups on 5.2": ("CgroupsMode", "enabled", "5.2", ["PodmanArgs=--cgroups=enabled"]),
    "secret on 4.4": ("Secret", ("x,type=env",), "4.4", ["PodmanArgs=--secret=x,type=env"]),
    "word that no list carries": (
        *("Exec", ("a", "", ";"), "5.4"),
        [
            "Exec=a ${QUADGEN_EMPTY} ${QUADGEN_SEMICOLON}",
            'Environment="QUADGEN_EMPTY=" "QUADGEN_SEMICOLON=;"',
        ],
    ),
}


@pytest.mark.parametrize(("key", "value", "version", "expected"), WRITTEN.values(), ids=WRITTEN)
def test_values_go_as_the_target_reads_them(
    key: str, value: Value, version: str, expected: list[str]
) -> None:
    assert lines(version, set_key(key, value)) == expected


# Key, value, target, and words of the message and the remedy.
REFUSED: dict[str, tuple[str, Value, str, tuple[str, ...]]] = {
    "no other form": ("ServiceName", "x", "5.2", ("ServiceName", "5.3", "target is 5.2")),
    "flag that came later too": ("Retry", 3, "4.9", ("Retry", "5.0", "target is 4.9")),
    "reload command": ("ReloadCmd", ("x",), "5.4", ("ReloadCmd", "5.5")),
    "readiness word": ("Notify", "healty", "5.4", ("Notify=healty", "false", "healthy")),
    "readiness from the health check": ("Notify", "healthy", "4.6", ("Notify=healthy", "4.7")),
    "boolean word": ("RunInit", "maybe", "5.4", ("RunInit=maybe", "false", "RunInit=true")),
    "optional CDI device": (
        "AddDevice",
        ("-nvidia.com/gpu=all",),
        "5.4",
        ("no path", "write nvidia.com/gpu=all"),
    ),
    "optional device before 4.5.1": ("AddDevice", ("-/dev/fuse",), "4.5", ("4.5.1", "without the `-`")),
    "health check with CMD": (
        "HealthCmd",
        '["CMD","x"]',
        "5.7.1",
        ("HealthCmd", "split", "leave the leading"),
    ),
    "startup check with CMD": ("HealthStartupCmd", '[ "cmd" , "x"]', "4.5", ("HealthStartupCmd", "split")),
    "mount without source": ("Mount", "type=bind,target=/x", "5.6", ("no source", "source=")),
    "mount of a unit with a bare flag": (
        "Mount",
        "type=volume,source=a.volume,target=/x,ro",
        "4.7",
        ("ro=true",),
    ),
    "mount with broken quotes": ("Mount", 'type=bind,"source=/a,target=/b', "5.4", ("quotes",)),
    "relative source on 4.4": ("Volume", ("./x:/x",), "4.4", ("4.5", "absolute path")),
    "image of a unit on 4.7": ("Image", "x.image", "4.7", ("x.image", "4.8")),
    "image of a build on 5.1": ("Image", "x.build", "5.1", ("x.build", "5.2")),
    "network of a container on 5.2": ("Network", ("x.container",), "5.2", ("5.3", "container:NAME")),
    "pod on 4.9": ("Pod", "x.pod", "4.9", ("Pod", "5.0")),
    "group without user": ("Group", "1000", "4.8", ("Group", "needs User")),
    "several values of a single key": ("Image", ("a", "b"), "5.4", ("Image", "one value")),
    "empty value": ("HostName", "", "5.4", ("empty HostName",)),
    "name with an equals sign": ("Environment", (("A=b", "c"),), "5.4", ("A=b", "name")),
    "label without a name": ("Label", ("=x",), "5.4", ("name",)),
    "list split at commas": ("Sysctl", ("net.x=1,2",), "5.8", ("Sysctl", "commas")),
    "list split at commas before 5.0": ("Annotation", (("a", "1,2"),), "4.9", ("Annotation", "commas")),
    "flag and value in one word": ("PodmanArgs", ("--shm-size 16g",), "5.4", ("one flag", '"--shm-size=…"')),
    "character that never arrives": ("Exec", ("a\x80",), "5.4", ("Exec", "U+0080")),
    "word that is too long": ("Exec", ("x" * 131072,), "5.4", ("131072 bytes",)),
    "line break in a key without a flag": ("ContainerName", "a\nb", "5.4", ("ContainerName", "line break")),
    "unknown key": ("Shmsize", "1g", "5.4", ("Shmsize", "did you mean ShmSize?")),
    "key of another section": ("Restart", "always", "5.4", ("Restart", "[Service]")),
}


@pytest.mark.parametrize(("key", "value", "version", "words"), REFUSED.values(), ids=REFUSED)
def test_what_the_target_would_lose_is_refused(
    key: str, value: Value, version: str, words: tuple[str, ...]
) -> None:
    done = lowered(version, set_key(key, value))
    [finding] = done.findings
    assert finding.severity == "error"
    assert finding.path[:3] == (*PATH, key)
    assert all(word in f"{finding.message} {finding.remedy}" for word in words), finding
    assert finding.remedy
    assert "\n" not in finding.message


@pytest.mark.parametrize(
    ("section", "key", "value", "version", "words"),
    [
        pytest.param("Pod", "PodName", "x", "4.9", ("[Pod]", "5.0"), id="pod"),
        pytest.param("Image", "Image", "x", "4.7", ("[Image]", "4.8"), id="image"),
        pytest.param("Build", "ImageTag", ("x",), "5.1", ("[Build]", "5.2"), id="build"),
        pytest.param("Image", "Policy", "always", "5.5", ("Policy", "5.6"), id="flag as new as its key"),
        pytest.param("Install", "UpheldBy", ("x.target",), "5.4", ("UpheldBy", "5.5"), id="upheld-by"),
        pytest.param("Install", "Also", ("x.service",), "5.8", ("Also",), id="also"),
        pytest.param("Volume", "Label", ("x",), "4.5", ("Label", "4.6"), id="bare label without PodmanArgs"),
        pytest.param("Volume", "User", "vllm", "5.4", ("User=vllm", "digits"), id="volume's user by name"),
        pytest.param("Volume", "Type", "tmpfs", "5.4", ("needs Device",), id="type without device"),
        pytest.param("Volume", "Options", "size=1", "5.8", ("needs Device",), id="options without device"),
        pytest.param(
            "Network", "Gateway", ("192.0.2.1",), "5.8", ("needs Subnet",), id="gateway without subnet"
        ),
        pytest.param("Service", "KillMode", "none", "5.4", ("KillMode=none", "mixed"), id="kill mode"),
        pytest.param(
            "Service", "Restat", "always", "5.4", ("systemd", "did you mean Restart?"), id="service"
        ),
        pytest.param("Unit", "RestartSec", "5", "5.4", ("[Service]",), id="service's key in unit"),
        pytest.param("Unit", "After", ("a b.service",), "5.4", ("unit name",), id="no unit name"),
        pytest.param(
            "Servce", "Restart", "always", "5.4", ("[Servce]", "did you mean Service?"), id="section"
        ),
        pytest.param("Service", "ExecStartPre", ("sh",), "5.4", ("absolute path",), id="program"),
    ],
)
def test_other_sections_are_held_to_their_keys(
    section: str, key: str, value: Value, version: str, words: tuple[str, ...]
) -> None:
    [finding] = lowered(version, set_key(key, value, section=section)).findings
    assert all(word in f"{finding.message} {finding.remedy}" for word in words), finding


@pytest.mark.parametrize(
    ("section", "key", "value", "version", "expected"),
    [
        pytest.param("Unit", "Description", "5% of $x", "5.4", ["Description=5%% of $x"], id="text"),
        pytest.param(
            "Unit", "After", ("a.service", "b.mount"), "5.4", ["After=a.service b.mount"], id="units"
        ),
        pytest.param(
            *("Unit", "After", ("a.container", "b.volume", "c.pod"), "5.4"),
            ["After=a.service b-volume.service c-pod.service"],
            id="Quadlet units before 5.5",
        ),
        pytest.param("Unit", "After", ("a.container",), "5.5", ["After=a.container"], id="Quadlet units"),
        pytest.param("Service", "CPUQuota", "200%", "5.4", ["CPUQuota=200%"], id="percentage"),
        pytest.param(
            "Service", "Environment", (("A", "$b %"),), "5.4", ['Environment="A=$b %%"'], id="environment"
        ),
        pytest.param("Service", "RemainAfterExit", True, "5.4", ["RemainAfterExit=yes"], id="boolean"),
        pytest.param("Service", "X-Note", "x", "5.4", ["X-Note=x"], id="private key"),
        pytest.param("Quadlet", "DefaultDependencies", False, "5.2", [], id="section before its release"),
        pytest.param(
            "Quadlet", "DefaultDependencies", False, "5.3", ["DefaultDependencies=false"], id="section"
        ),
        pytest.param(
            "Install", "WantedBy", ("default.target",), "4.4", ["WantedBy=default.target"], id="install"
        ),
        pytest.param("Build", "Pull", "newer", "5.3.1", ["PodmanArgs=--pull=newer"], id="build's pull"),
        pytest.param(
            "Build", "Pull", "newer", "5.3", ["PodmanArgs=--pull=newer"], id="build's pull, any patch"
        ),
        pytest.param("Build", "Pull", "newer", "5.3.2", ["Pull=newer"], id="build's pull, fixed"),
        pytest.param("Volume", "Options", "size=1", "6.0", ["Options=size=1"], id="options alone"),
    ],
)
def test_other_sections_are_written(
    section: str, key: str, value: Value, version: str, expected: list[str]
) -> None:
    assert lines(version, set_key(key, value, section=section)) == expected


def test_sections_and_lines_keep_their_order() -> None:
    given = [
        set_key("WantedBy", ("default.target",), section="Install"),
        set_key("Restart", "always", section="Service"),
        set_key("Image", "x"),
        set_key("Description", "x", section="Unit"),
        set_key("Exec", ("b", "a")),
    ]
    assert lowered("5.4", *given).text() == (
        "[Unit]\nDescription=x\n\n[Container]\nImage=x\nExec=b a\n\n"
        "[Service]\nRestart=always\n\n[Install]\nWantedBy=default.target\n"
    )


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
def test_the_last_of_a_single_key_counts(version: PodmanVersion) -> None:
    given = [set_key("PidsLimit", "4096"), set_key("PidsLimit", "-1", raw=True)]
    done = lower(given, version)
    assert [line.partition("pids-limit=")[2] or line for line in done.sections[0].lines] in (
        ["-1"],
        ["PidsLimit=-1"],
    )


def test_users_and_groups_go_together() -> None:
    given = [set_key("User", "vllm"), set_key("Group", "%g", raw=True)]
    assert lines("4.7", *given) == ['PodmanArgs="--user=vllm:%g"']
    assert lines("4.8", *given) == ["User=vllm", "Group=%g"]


def test_a_line_that_systemd_cannot_read_is_refused() -> None:
    [finding] = lowered("5.4", set_key("Exec", ("x" * 131071,) * 8)).findings
    assert "1048575 bytes" in finding.message


def test_lines_that_fill_the_generated_command_are_refused_together() -> None:
    done = lowered(
        "5.4", set_key("Exec", ("x" * 131071,) * 7), set_key("Environment", (("A", "x" * 131000),))
    )
    [finding] = done.findings
    assert "Exec" in finding.remedy
    assert finding.path == (*PATH, "Exec")


def test_pods_before_5_6_keep_their_own_environment() -> None:
    given = [set_key("PodName", "x", section="Pod"), set_key("Environment", (("A", "b"),), section="Service")]
    assert lines("5.5", *given)[1:] == ["Environment=A=b", "Environment=PODMAN_SYSTEMD_UNIT=%n"]
    assert lines("5.6", *given)[1:] == ["Environment=A=b"]


RAW: dict[str, tuple[str, Value, str, list[str]]] = {
    "as it is": ("Label", "'a b'=c \"d=%n\"", "5.4", ["Label='a b'=c \"d=%n\""]),
    "several lines": ("Ulimit", ("core=0", "stack=1"), "5.0", ["Ulimit=core=0", "Ulimit=stack=1"]),
    "number and boolean": ("RunInit", True, "5.4", ["RunInit=true"]),
    "table": ("Environment", (("A", "b c%"),), "5.4", ['Environment="A=b c%%"']),
    "specifier where the key is newer": (
        "LogOpt",
        "'a=%n b' c",
        "5.1",
        ['PodmanArgs="--log-opt=a=%n b"', "PodmanArgs=--log-opt=c"],
    ),
    "octal escape before 5.4": ("PodmanArgs", r"--a\101", "5.3", ["PodmanArgs=--aA"]),
    "octal escape from 5.4 on": ("PodmanArgs", r"--a\101", "5.4", [r"PodmanArgs=--a\101"]),
    "variable in a port before 5.3": ("PublishPort", "${P}:80", "5.2", ['PodmanArgs="--publish=${P}:80"']),
    "environment file below the home before 4.5": (
        "EnvironmentFile",
        "%h/x",
        "4.4",
        ['PodmanArgs="--env-file=%h/x"'],
    ),
    "environment file below the home": ("EnvironmentFile", "%h/x", "4.5", ["EnvironmentFile=%h/x"]),
    "nothing, which clears": ("Ulimit", "", "5.4", []),
}


@pytest.mark.parametrize(("key", "value", "version", "expected"), RAW.values(), ids=RAW)
def test_the_users_own_text(key: str, value: Value, version: str, expected: list[str]) -> None:
    assert lines(version, set_key(key, value, raw=True)) == expected


def test_an_empty_text_takes_back_what_came_before() -> None:
    given = [
        set_key("Ulimit", ("core=0",)),
        set_key("Ulimit", "", raw=True),
        set_key("Ulimit", "stack=1", raw=True),
    ]
    assert lines("5.4", *given) == ["Ulimit=stack=1"]


@pytest.mark.parametrize(
    ("section", "key", "value", "words"),
    [
        pytest.param("Container", "Exec", "x", ("serve",), id="Exec"),
        pytest.param("Container", "Image", "x", ("image =",), id="Image"),
        pytest.param("Container", "ContainerName", "x", ("rename the service",), id="ContainerName"),
        pytest.param("Service", "ExecStart", "/bin/x", ("serve",), id="ExecStart"),
        pytest.param("Service", "Type", "simple", ("Type=notify",), id="Type"),
        pytest.param("Service", "NotifyAccess", "main", ("NotifyAccess=all",), id="NotifyAccess"),
        pytest.param("Service", "User", "x", ("the user who",), id="User"),
        pytest.param("Container", "Label", "a\nb=c", ("one line",), id="line break"),
        pytest.param("Container", "Label", "a=b\\", ("backslash",), id="trailing backslash"),
        pytest.param("Container", "Label", r"a=\d", (r"\d",), id="unknown escape"),
        pytest.param("Container", "Label", '"a=b', ("unbalanced",), id="unbalanced quotes"),
        pytest.param("Container", "Label", "a=%Z", ("%Z", "%%Z"), id="unknown specifier"),
        pytest.param("Service", "ExecStartPre", "/bin/sh -c 'x", ("unbalanced",), id="systemd's quotes"),
        pytest.param("Service", "Slice", "a%Zb.slice", ("%Z",), id="systemd's specifier"),
        pytest.param("Container", "Notify", "healty", ("healthy",), id="word"),
        pytest.param("Container", "HealthCmd", 'x "y"', ("begins or ends",), id="quote at an end"),
    ],
)
def test_text_that_means_no_good_is_refused(
    section: str, key: str, value: str, words: tuple[str, ...]
) -> None:
    [finding] = lowered("5.4", set_key(key, value, raw=True, section=section)).findings
    assert finding.path == (*PATH, key)
    assert all(word in f"{finding.message} {finding.remedy}" for word in words), finding


def test_each_line_of_a_text_has_its_own_finding() -> None:
    done = lowered("5.4", set_key("AddDevice", ("/dev/kfd", "-x", "-y"), raw=True))
    assert [finding.path[-1] for finding in done.findings] == [1, 2]
    assert done.sections[0].lines == ("AddDevice=/dev/kfd",)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("AutoUpdate", "regstry"),
        ("HealthOnFailure", "restart"),
        ("HealthOnFailure", "Kill"),
        ("Pull", "allways"),
    ],
)
def test_a_word_that_podman_would_only_refuse_at_the_start_is_refused(key: str, value: str) -> None:
    given = [Assignment("Container", "Image", "a/b:1"), Assignment("Container", key, value, raw=True)]
    (finding,) = lower(given, PodmanVersion(5, 4)).findings
    assert (finding.code, value in finding.message) == ("misread-value", True)
