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
