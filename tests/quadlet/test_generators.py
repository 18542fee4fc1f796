"""The key table and the encoders, judged by every real generator that this machine has."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quadgen.quadlet.assignment import Assignment
from quadgen.quadlet.keys import find_key, key_names, section_since
from quadgen.quadlet.lower import lower
from quadgen.quadlet.version import PodmanVersion

if TYPE_CHECKING:
    from tests.quadlet.conftest import Generator

    from quadgen.quadlet.assignment import Value

KINDS = ("Container", "Volume", "Network", "Image", "Pod", "Build")
# What each kind of unit cannot do without.
NEEDED: dict[str, dict[str, Value]] = {
    "Container": {"Image": "localhost/x:y"},
    "Image": {"Image": "localhost/x:y"},
    "Build": {"ImageTag": ("localhost/x:y",), "SetWorkingDirectory": "unit"},
    "Volume": {"Device": "/srv/data"},
}
SAMPLES: dict[str, Value] = {
    "AddDevice": ("/dev/fuse",),
    "AutoUpdate": "registry",
    "ExposeHostPort": ("8000",),
    "File": "Containerfile",
    "GroupAdd": ("keep-groups",),
    "Mount": ("type=tmpfs,destination=/x",),
    "Network": ("host",),
    "Notify": "true",
    "PublishPort": ("8000:8000",),
    "RemapUsers": "auto",
    "SetWorkingDirectory": "unit",
    "Volume": ("/srv/a:/a:ro",),
    "Entrypoint": ("vllm", "serve"),
}
BY_KIND: dict[str, Value] = {
    "string": "1000",
    "bool": True,
    "list": ("a",),
    "strv": ("a=b",),
    "quoted-list": ("a",),
    "argv": ("a",),
    "env": (("A", "b"),),
}
# What a key cannot do without.
BESIDE: dict[str, dict[str, Value]] = {
    "Gateway": {"Subnet": ("192.0.2.0/24",)},
    "Group": {"User": "1000"},
    "IPRange": {"Subnet": ("192.0.2.0/24",)},
    "RemapGid": {"RemapUsers": "auto"},
    "RemapUid": {"RemapUsers": "auto"},
    "RemapUidSize": {"RemapUsers": "auto"},
}
# They change what the unit is: `Rootfs` is instead of `Image`, and the others need another unit or its name.
SPECIAL = ("Pod", "Rootfs", "ServiceName")


def every_key(section: str) -> list[str]:
    return [name for name in key_names(section) if name not in SPECIAL]


def assignments(section: str, name: str) -> list[Assignment]:
    """A unit with that key and as little as possible beside it."""
    key = find_key(section, name)
    assert key
    value = SAMPLES.get(name, BY_KIND[key.kind])
    values = {**NEEDED.get(section, {}), name: value, **BESIDE.get(name, {})}
    return [Assignment(section, other, value) for other, value in values.items()]


def as_it_is(given: list[Assignment]) -> str:
    """The unit file without any regard to the version."""
    return f"[{given[0].section}]\n" + "".join(f"{one.key}={plain(one.value)}\n" for one in given)


def plain(value: Value) -> str:
    if isinstance(value, tuple):
        return " ".join(word if isinstance(word, str) else "=".join(word) for word in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def unit_name(section: str, name: str) -> str:
    return f"key-{name.lower()}.{section.lower()}"


def service_name(section: str, name: str) -> str:
    suffix = "" if section == "Container" else f"-{section.lower()}"
    return f"key-{name.lower()}{suffix}.service"


@pytest.mark.parametrize("section", KINDS)
def test_a_generator_takes_just_the_keys_of_the_table(generator: Generator, section: str) -> None:
    done = generator.convert(
        {unit_name(section, name): as_it_is(assignments(section, name)) for name in every_key(section)}
    )
    if generator.version < section_since(section):
        assert not done.services
        return
    for name in every_key(section):
        known = find_key(section, name).since <= generator.version
        complaint = (
            f"unsupported key '{name}' in group '{section}' in {generator.folder / unit_name(section, name)}"
        )
        assert (complaint not in done.messages) == known, name
        assert (service_name(section, name) in done.services) == known, (name, done.messages)


@pytest.mark.parametrize("section", KINDS)
def test_no_unit_is_lost_whatever_key_it_has(generator: Generator, section: str) -> None:
    lowered = {
        unit_name(section, name): lower(assignments(section, name), generator.version)
        for name in every_key(section)
    }
    units = {unit: one.text() for unit, one in lowered.items() if not one.findings}
    done = generator.convert(units)
    assert len(done.services) == len(units), done.messages
    assert bool(units) == (generator.version >= section_since(section))


# What quoting goes wrong on, beside plain text and everything else that Unicode has.
SPECIAL_TEXTS = (
    *" \t\n\r\x01\x7f\x85\xa0\"'\\$%;{}#*~=,:-`&",
    *("😀", "$$", "%%", "%n", "${HOME}", r"\n", "--", "\u3000"),
)
NONCHARACTERS = [plane << 16 | low for plane in range(17) for low in (0xFFFE, 0xFFFF)]
UNSENDABLE = "".join(map(chr, (0, 0x80, *range(0xFDD0, 0xFDF0), *NONCHARACTERS)))
CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters=UNSENDABLE)
TEXT = st.lists(st.sampled_from(SPECIAL_TEXTS) | st.text(CHARACTERS, max_size=4), max_size=6).map("".join)
WORD = st.sampled_from(("", ";", " ", '"', "\\", "'", "$", "%", "x")) | TEXT
NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,8}", fullmatch=True)
PAIRS = st.dictionaries(NAME, TEXT, max_size=4)
SEVERAL = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def flag_values(argv: list[str], flag: str) -> list[str]:
    """The values of a flag, which releases write as one word or as two."""
    alone = [value for word, value in pairwise(argv) if word == flag]
    return alone + [word.removeprefix(f"{flag}=") for word in argv if word.startswith(f"{flag}=")]


def convert_one(generator: Generator, given: list[Assignment]) -> list[str]:
    lowered = lower([Assignment("Container", "Image", "localhost/image:x"), *given], generator.version)
    assert not lowered.findings
    return generator.convert({"a.container": lowered.text()}).argv("a.service")


@SEVERAL
@given(words=st.lists(WORD, max_size=8), environment=PAIRS, labels=PAIRS)
def test_words_and_names_with_values_arrive(
    generator: Generator, words: list[str], environment: dict[str, str], labels: dict[str, str]
) -> None:
    given = [
        ("Exec", tuple(words)),
        ("Environment", tuple(environment.items())),
        ("Label", tuple(labels.items())),
    ]
    argv = convert_one(generator, [Assignment("Container", key, value) for key, value in given])
    place = argv.index("localhost/image:x")
    assert argv[place + 1 :] == words
    assert sorted(flag_values(argv[:place], "--env")) == sorted(map("=".join, environment.items()))
    assert sorted(flag_values(argv[:place], "--label")) == sorted(map("=".join, labels.items()))


@SEVERAL
@given(word=WORD.filter(lambda word: word and "," not in word and '"' not in word))
@pytest.mark.parametrize(
    ("key", "flag"),
    [
        pytest.param("HealthCmd", "--health-cmd", id="string"),
        pytest.param("LogOpt", "--log-opt", id="strv"),
        pytest.param("NetworkAlias", "--network-alias", id="list"),
        pytest.param("Secret", "--secret", id="quoted-list"),
    ],
)
def test_a_value_of_every_class_arrives(generator: Generator, key: str, flag: str, word: str) -> None:
    argv = convert_one(generator, [Assignment("Container", key, word)])
    assert flag_values(argv, flag) == [word]


@SEVERAL
@given(text=TEXT.filter(bool))
def test_a_single_value_with_quotes_arrives(generator: Generator, text: str) -> None:
    assert flag_values(convert_one(generator, [Assignment("Container", "HostName", text)]), "--hostname") == [
        text
    ]


# What must reach Podman, in whatever form, from every release that can: keys, flag, and its values.
ARRIVING: dict[str, tuple[dict[str, Value], str, list[str]]] = {
    "several ulimits": ({"Ulimit": ("core=0", "stack=1")}, "--ulimit", ["core=0", "stack=1"]),
    "bare variable": ({"Environment": ("HF_TOKEN", "A=b")}, "--env", ["A=b", "HF_TOKEN"]),
    "bare label": ({"Label": ("x", "a=b")}, "--label", ["a=b", "x"]),
    "auto-update": ({"AutoUpdate": "registry"}, "--label", ["io.containers.autoupdate=registry"]),
    "entrypoint": ({"Entrypoint": ("a b", 'c"')}, "--entrypoint", [r'["a b", "c\""]']),
    "empty entrypoint": ({"Entrypoint": ""}, "--entrypoint", [""]),
    "quote at an end": ({"HealthCmd": 'curl "x"'}, "--health-cmd", ['curl "x"']),
    "user by name": ({"User": "vllm"}, "--user", ["vllm"]),
    "user and group": ({"User": "vllm", "Group": "5"}, "--user", ["vllm:5"]),
    "user and group by number": ({"User": "7", "Group": "5"}, "--user", ["7:5"]),
    "port of another protocol": ({"PublishPort": ("8000:8000/sctp",)}, "--publish", ["8000:8000/sctp"]),
    "port with addresses": (
        {"PublishPort": ("[::1]:1:2", "127.0.0.1::3")},
        "--publish",
        ["127.0.0.1::3", "[::1]:1:2"],
    ),
    "exposed port": ({"ExposeHostPort": ("1/sctp", "2-3/udp")}, "--expose", ["1/sctp", "2-3/udp"]),
    "tmpfs": ({"Tmpfs": ("/a:size=1", "/b:x:y")}, "--tmpfs", ["/a:size=1", "/b:x:y"]),
    "anonymous volume": ({"Mount": "type=volume,destination=/x"}, "--mount", ["type=volume,destination=/x"]),
    "bare mount parameter": (
        {"Mount": "type=bind,source=/a,destination=/b,ro"},
        *("--mount", ["type=bind,source=/a,destination=/b,ro"]),
    ),
    "quotes of CSV": (
        {"Mount": 'type=bind,"source=/a,b",destination=/b'},
        *("--mount", ['type=bind,"source=/a,b",destination=/b']),
    ),
    "environment file": ({"EnvironmentFile": "/srv/a b"}, "--env-file", ["/srv/a b"]),
    "device": ({"AddDevice": ("nvidia.com/gpu=0", "/dev/a b")}, "--device", ["/dev/a b", "nvidia.com/gpu=0"]),
    "masks": ({"Mask": ("/a:/b",)}, "--security-opt", ["mask=/a:/b"]),
}


@pytest.mark.parametrize(("keys", "flag", "expected"), ARRIVING.values(), ids=ARRIVING)
def test_every_release_hands_on_the_same(
    generator: Generator, keys: dict[str, Value], flag: str, expected: list[str]
) -> None:
    argv = convert_one(generator, [Assignment("Container", key, value) for key, value in keys.items()])
    assert sorted(flag_values(argv, flag)) == expected


# As above, for flags that the generator writes too: key, value, the first release that can, the last flag.
LAST: dict[str, tuple[str, Value, str, str]] = {
    "cgroups": ("CgroupsMode", "enabled", "4.4", "--cgroups=enabled"),
    "log driver": ("LogDriver", "k8s-file", "4.4", "--log-driver=k8s-file"),
    "readiness": ("Notify", "healthy", "4.7", "--sdnotify=healthy"),
}


@pytest.mark.parametrize(("key", "value", "since", "expected"), LAST.values(), ids=LAST)
def test_the_last_flag_says_what_is_meant(
    generator: Generator, key: str, value: Value, since: str, expected: str
) -> None:
    given = [Assignment("Container", key, value)]
    if generator.version < PodmanVersion.parse(since):
        assert lower(given, generator.version).findings
        return
    assert last_flag(convert_one(generator, given), expected.partition("=")[0]) == expected


def test_temporary_folders_stay_writable_in_a_read_only_container(generator: Generator) -> None:
    argv = convert_one(generator, [Assignment("Container", "ReadOnly", value=True)])
    assert "--read-only" in argv
    # Podman's own default is true.
    assert last_flag(argv, "--read-only-tmpfs") in (None, "--read-only-tmpfs=true")


def last_flag(argv: list[str], flag: str) -> str | None:
    """The last word of a flag, as one word with its value."""
    found = [
        f"{flag}={value}" if word == flag else word
        for word, value in pairwise(argv)
        if word.split("=")[0] == flag
    ]
    return found[-1] if found else None


def test_volumes_with_blanks_keep_their_paths(generator: Generator) -> None:
    lowered = lower(
        [
            Assignment("Container", "Image", "localhost/image:x"),
            Assignment("Container", "Volume", ("/srv/my models:/m:ro", "/srv/a:/a", "hf.volume:/hf")),
        ],
        generator.version,
    )
    done = generator.convert({"a.container": lowered.text(), "hf.volume": "[Volume]\n"})
    argv = done.argv("a.service")
    assert sorted(flag_values(argv, "-v") + flag_values(argv, "--volume")) == [
        "/srv/a:/a",
        "/srv/my models:/m:ro",
        "systemd-hf:/hf",
    ]
    assert 'RequiresMountsFor="/srv/my models"\n' in done.services["a.service"]
    assert "RequiresMountsFor=/srv/my models\n" not in done.services["a.service"]


def test_units_are_ordered_after_the_services_of_other_units(generator: Generator) -> None:
    given = [
        Assignment("Unit", "After", ("b.container", "c.volume", "d.service")),
        Assignment("Container", "Image", "localhost/image:x"),
    ]
    other = "[Container]\nImage=localhost/image:x\n"
    units = {
        "a.container": lower(given, generator.version).text(),
        "b.container": other,
        "c.volume": "[Volume]\n",
    }
    assert "After=b.service c-volume.service d.service\n" in generator.convert(units).services["a.service"]


def test_pods_keep_their_environment(generator: Generator) -> None:
    given = [
        Assignment("Pod", "PodName", "x"),
        Assignment("Pod", "PodmanArgs", ("--label", "")),
        Assignment("Service", "Environment", (("A", "b"),)),
    ]
    lowered = lower(given, generator.version)
    if generator.version < section_since("Pod"):
        assert lowered.findings
        return
    done = generator.convert({"a.pod": lowered.text()})
    service = done.services["a-pod.service"]
    assert "Environment=A=b\n" in service
    assert "Environment=PODMAN_SYSTEMD_UNIT=%n\n" in service
    assert flag_values(done.argv("a-pod.service", "ExecStartPre"), "--label") == [""]
