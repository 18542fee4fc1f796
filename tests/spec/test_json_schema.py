"""The schema for editors takes and refuses what `check` does, as far as types and names go."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from quadgen.spec.json_schema import spec_schema
from quadgen.vllm import catalog

from .test_bad_specs import BAD

if TYPE_CHECKING:
    from .test_bad_specs import Bad

CHECKOUT = Path(__file__).parents[2]
GOOD = [
    *sorted((CHECKOUT / "tests/spec/configurations").glob("*.toml")),
    CHECKOUT / "quadlets/vllm-qwen.toml",
]
# What the schema can express; the rest needs a function, or several keys in sight.
STRUCTURAL = {
    "unknown-key",
    "missing-key",
    "bad-type",
    "bad-choice",
    "not-a-table",
    "bad-option-value",
    "no-service",
}


def schema(release: str = "0.33") -> dict[str, Any]:
    return spec_schema(catalog.load(release))


@pytest.mark.parametrize("release", catalog.RELEASES)
def test_it_is_a_schema_for_every_release(release: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(release))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_it_takes_what_people_really_run(path: Path) -> None:
    jsonschema.validate(tomllib.loads(path.read_text()), schema())


@pytest.mark.parametrize(
    "bad",
    [bad for bad in BAD if bad.code in STRUCTURAL and "quadlet." not in bad.key],
    ids=lambda bad: bad.name,
)
def test_it_refuses_what_check_refuses_for_names_and_types(bad: Bad) -> None:
    tables = tomllib.loads(bad.text)
    assert not jsonschema.Draft202012Validator(schema()).is_valid(tables)


@pytest.mark.parametrize(
    ("option", "accepted"),
    [
        ("max-num-seqs = 3", True),
        ("max-num-sqes = 3", False),
        ("max-num-seqs = [1]", False),
        ("enable-prefix-caching = true", True),
        ('enable-prefix-caching = "true"', False),
        ('scheduling-policy = "priority"', True),
        ('scheduling-policy = "fair"', False),
        ("compilation-config = { mode = 3 }", True),
        ("compilation-config = { mod = 3 }", False),
        ('"compilation-config.mode" = 3', True),
    ],
)
def test_it_knows_the_options_of_the_release(option: str, *, accepted: bool) -> None:
    tables = tomllib.loads(f'[service.a]\nmodel = "org/m"\n[service.a.serve]\n{option}\n')
    assert jsonschema.Draft202012Validator(schema()).is_valid(tables) == accepted
