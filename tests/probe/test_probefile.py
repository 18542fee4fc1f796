from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from probe_samples import probe_file

from quadgen.probe.probefile import Budgets, Needs, ProbeFileError, Server, load, parse

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_written_is_read_back() -> None:
    file = probe_file(
        server=Server(url="https://[::1]:8443", tls_ca="/ca.pem", names=("ä", "b"), api_key_secret="key"),  # noqa: S106 - a name
        budgets=Budgets(hang_timeout=1.5, failures=5),
        needs=Needs(image="localhost/vllm:1", gpus=("0", "1:2"), gpu_memory=0.9, binds=("/models",)),
        cache_paths=("/cache",),
        models=("org/model",),
        restart_attempts=4,
        restart_window=3600,
        log_identifiers=("vllm-a",),
    )
    assert parse(file.to_json(), "x.json") == file


def test_the_text_is_stable_and_its_keys_are_in_kebab_case() -> None:
    text = probe_file().to_json()
    assert text == probe_file().to_json()
    assert text.endswith("}\n")
    assert json.loads(text)["server"]["api-key-secret"] is None
    assert "_" not in "".join(json.loads(text)["budgets"])


def changed(path: str, value: Any) -> str:
    table = json.loads(probe_file().to_json())
    *folders, key = path.split("/")
    place = table
    for folder in folders:
        place = place[folder]
    if value is KeyError:
        del place[key]
    else:
        place[key] = value
    return json.dumps(table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "it is not JSON", id="empty"),
        pytest.param("[]", "it is not a JSON object", id="list"),
        pytest.param(changed("schema", 2), "schema is 2, this probe reads 1", id="newer-schema"),
        pytest.param(changed("schema", KeyError), "schema is None", id="no-schema"),
        pytest.param(changed("colour", "red"), "colour is no key", id="unknown-key"),
        pytest.param(changed("server/colour", 1), "server.colour is no key", id="unknown-key-in-section"),
        pytest.param(changed("unit", KeyError), "unit is missing", id="missing"),
        pytest.param(changed("server/url", KeyError), "server.url is missing", id="missing-in-section"),
        pytest.param(changed("server", 1), "server is 1, not a table", id="no-table"),
        pytest.param(changed("unit", 5), "unit is 5, not text", id="number-for-text"),
        pytest.param(changed("unit", ""), "unit is '', not text", id="empty-text"),
        pytest.param(changed("server/tls-insecure", "no"), "not true or false", id="text-for-flag"),
        pytest.param(changed("server/warmup", "sing"), "not one of completion", id="unknown-warmup"),
        pytest.param(changed("server/names", "qwen"), "not a list of texts", id="text-for-list"),
        pytest.param(changed("server/names", [1]), "not a list of texts", id="numbers-in-list"),
        pytest.param(changed("budgets/interval", -1), "not a number from 0", id="negative"),
        pytest.param(changed("budgets/interval", value=True), "not a number from 0", id="flag-for-number"),
        pytest.param(changed("budgets/failures", 1.5), "not a whole number", id="fraction"),
        pytest.param(changed("budgets/interval", 1e999), "not a number from 0", id="infinite"),
        pytest.param(changed("needs/pull", "sometimes"), "not one of always", id="unknown-pull"),
    ],
)
def test_a_damaged_file_is_refused_with_place_and_remedy(text: str, message: str) -> None:
    with pytest.raises(ProbeFileError) as caught:
        parse(text, "/units/vllm-a.json")
    assert caught.value.message.startswith("/units/vllm-a.json: ")
    assert message in caught.value.message
    assert "quadgen install" in caught.value.remedy


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProbeFileError, match="No such file"):
        load(tmp_path / "vllm-a.json")
