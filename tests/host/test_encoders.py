"""Random values through the real generator and the real systemd, compared byte for byte with what went in."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from quadgen.quadlet.assignment import Assignment
from quadgen.quadlet.encode import MAX_WORD_BYTES
from quadgen.quadlet.lower import lower

if TYPE_CHECKING:
    from tests.host.conftest import BootedHost

    from quadgen.quadlet.version import PodmanVersion

SETS = 2000
IMAGE = "localhost/image:x"
SPECIAL = (
    *" \t\n\r\x01\x07\x0b\x1b\x7f\x81\x85\x9f\xa0\"'\\$%;{}[]#*~=,:-`&|<>()!@?",
    *(
        "  ",
        "$$",
        "%%",
        "%n",
        "%Z",
        "$HOME",
        "${HOME}",
        r"\n",
        r"\x41",
        "--",
        "\u3000",
        "\u2028",
        "é",
        "日本",
        "😀",
    ),
)
WHOLE_WORDS = ("", ";", " ", '"', "\\", "'", "$", "%", "#", "-", "\n", '{"method": "dflash", "n": [1, 2]}')


@dataclass(frozen=True)
class Values:
    """What one unit carries: words, two lists of names with values, and one value of each other class."""

    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str], ...]
    health: str
    alias: str
    log_option: str

    def assignments(self) -> list[Assignment]:
        given = {
            "Image": IMAGE,
            "Exec": self.words,
            "Environment": self.environment,
            "Label": self.labels,
            "HealthCmd": self.health,
            "NetworkAlias": self.alias,
            "LogOpt": self.log_option,
        }
        return [Assignment("Container", key, value) for key, value in given.items()]

    def arrived(self, argv: list[bytes]) -> bool:
        place = argv.index(IMAGE.encode())
        single = (
            (b"--health-cmd", self.health),
            (b"--network-alias", self.alias),
            (b"--log-opt", self.log_option),
        )
        return (
            argv[place + 1 :] == [word.encode() for word in self.words]
            and flag_values(argv[:place], b"--env") == joined(self.environment)
            and flag_values(argv[:place], b"--label") == joined(self.labels)
            and all(flag_values(argv[:place], flag) == [value.encode()] for flag, value in single)
        )


def joined(pairs: tuple[tuple[str, str], ...]) -> list[bytes]:
    return sorted("=".join(pair).encode() for pair in pairs)


def flag_values(argv: list[bytes], flag: bytes) -> list[bytes]:
    """What a flag got, as one word with it or as the next, in the order of bytes."""
    apart = [value for word, value in pairwise(argv) if word == flag]
    return sorted(apart + [word.removeprefix(flag + b"=") for word in argv if word.startswith(flag + b"=")])


def random_text(rng: random.Random, *, at_least: int = 0) -> str:
    return "".join(random_piece(rng) for _ in range(rng.choice((at_least, 1, 1, 2, 3, 5, 8))))


def random_piece(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.55:
        return rng.choice(SPECIAL)
    if kind < 0.9:
        return "".join(rng.choices("abcXYZ0189./_-+", k=rng.randint(1, 6)))
    # Any character that Unicode has, but for surrogates, noncharacters and the two that cannot arrive.
    code = rng.choice(
        (rng.randrange(1, 0x800), rng.randrange(0x800, 0xD800), rng.randrange(0xE000, 0x110000))
    )
    refused = code == 0x80 or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
    return "x" if refused else chr(code)


def random_pairs(rng: random.Random) -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"N{number}.{rng.choice('abc_')}", random_text(rng)) for number in range(rng.choice((0, 1, 2, 5)))
    )


def random_words(rng: random.Random) -> tuple[str, ...]:
    return tuple(
        rng.choice(WHOLE_WORDS) if rng.random() < 0.2 else random_text(rng) for _ in range(rng.randint(0, 10))
    )


def random_values(rng: random.Random) -> Values:
    texts = (random_text(rng, at_least=1) for _ in range(3))
    return Values(random_words(rng), random_pairs(rng), random_pairs(rng), *texts)


@pytest.fixture
def rng(capsys: pytest.CaptureFixture[str]) -> random.Random:
    """Another seed each time; a failure's own can be given back in."""
    seed = int(os.environ.get("QUADGEN_TEST_SEED") or random.SystemRandom().randrange(2**32))
    with capsys.disabled():
        print(f" [QUADGEN_TEST_SEED={seed}]", end=" ")  # noqa: T201
    return random.Random(seed)  # noqa: S311


def unit(given: list[Assignment], version: PodmanVersion) -> str:
    """A unit that ends at once, and waits for no network."""
    beside = [Assignment("Quadlet", "DefaultDependencies", "false"), Assignment("Service", "Type", "oneshot")]
    lowered = lower([*given, *beside], version)
    assert not lowered.findings
    return lowered.text()


def test_random_values_of_every_class_arrive(host: BootedHost, rng: random.Random) -> None:
    version = host.podman()
    sets = {f"set-{number:04}": random_values(rng) for number in range(SETS)}
    seen = host.record(
        {f"{name}.container": unit(one.assignments(), version) for name, one in sets.items()}
    ).words
    wrong = [name for name, one in sets.items() if not one.arrived(seen[f"{name}.service"])]
    assert not wrong, (
        f"{len(wrong)}: {wrong[:5]}, {[(sets[name], seen[f'{name}.service']) for name in wrong[:2]]}"
    )


def test_random_values_of_systemds_own_keys_arrive(host: BootedHost, rng: random.Random) -> None:
    version = host.podman()
    sets = {f"own-{number:03}": (random_words(rng), random_text(rng)) for number in range(100)}
    given = {
        f"{name}.container": [
            Assignment("Container", "Image", IMAGE),
            Assignment("Service", "ExecStartPre", (host.recorder, "before", *words)),
            Assignment("Service", "Environment", (("PASSED", passed),)),
        ]
        for name, (words, passed) in sets.items()
    }
    seen = host.record({name: unit(one, version) for name, one in given.items()}).words
    for name, (words, passed) in sets.items():
        assert seen[f"{name}.service.before"] == [word.encode() for word in (passed, "before", *words)]


@pytest.mark.parametrize(
    "word",
    [
        pytest.param("x" * MAX_WORD_BYTES, id="plain"),
        pytest.param("é" * (MAX_WORD_BYTES // 2), id="two bytes each"),
        pytest.param(" " * MAX_WORD_BYTES, id="four bytes each in the generated unit"),
    ],
)
def test_the_longest_word_arrives(host: BootedHost, word: str) -> None:
    given = [Assignment("Container", "Image", IMAGE), Assignment("Container", "Exec", (word, "end"))]
    seen = host.record({"long.container": unit(given, host.podman())}).words
    assert seen["long.service"][-2:] == [word.encode(), b"end"]


def test_systemd_reads_descriptions_and_paths_as_meant(host: BootedHost) -> None:
    description = 'vLLM "100%" of $HOME \\ 日本 %n'
    given = [
        Assignment("Unit", "Description", description),
        Assignment("Container", "Image", IMAGE),
        Assignment("Container", "Volume", ("/srv/my models:/m:ro", '/srv/a%b"c\\d:/n')),
    ]
    recorded = host.record({"own.container": unit(given, host.podman())}, "Description", "RequiresMountsFor")
    shown = recorded.shown["own.service"]
    assert f"Description={description}\n" in shown
    assert '"/srv/my models"' in shown
    assert r'"/srv/a%b\"c\\d"' in shown
    volumes = flag_values(recorded.words["own.service"], b"--volume")
    assert volumes == [b'/srv/a%b"c\\d:/n', b"/srv/my models:/m:ro"]


@pytest.mark.parametrize("character", ["\ufffe", "\ufdd0", "\U0001ffff", "\x80"])
def test_what_is_refused_would_not_arrive(host: BootedHost, character: str) -> None:
    beside = "[Quadlet]\nDefaultDependencies=false\n[Service]\nType=oneshot\n"
    text = f"[Container]\nImage={IMAGE}\nExec=a{character}b\n{beside}"
    seen = host.record({"odd.container": text}, must_start=False).words
    assert f"a{character}b".encode() not in seen.get("odd.service", [])
