"""What `check`, `render` and `options` say about vLLM's side of a spec."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from quadgen.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '[service.a]\nmodel = "org/m"\n'


def check(tmp_path: Path, text: str, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    spec = tmp_path / "quadgen.toml"
    spec.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", "--json", "--file", str(spec), *arguments])
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        (HEAD + "serve.max-num-sqes = 3\n", 3, "service.a.serve.max-num-sqes", "max-num-seqs"),
        (HEAD + "serve.swap-space = 4\n", 3, "service.a.serve.swap-space", "0.18"),
        (HEAD + 'serve.max-num-seqs = "many"\n', 3, "service.a.serve.max-num-seqs", "many"),
        (HEAD + "serve.gpu-memory-utilization = 1.5\n", 3, "service.a.serve.gpu-memory-utilization", "1.5"),
        (HEAD + 'serve.kv-cache-dtype = "q8_0"\n', 3, "service.a.serve.kv-cache-dtype", "fp8"),
        (HEAD + 'serve.api-key = "sk-1"\n', 3, "service.a.serve.api-key", "api-key"),
        (HEAD + 'env.VLLM_PORT = "8000"\n', 3, "service.a.env.VLLM_PORT", "VLLM_PORT"),
        (HEAD + "serve.enable-auto-tool-choice = true\n", 3, "service.a.serve.enable-auto-tool-choice", "tool-call-parser"),
        (HEAD + 'image = "localhost/mine:1"\n', 3, "service.a.image", "vllm ="),
        (HEAD + 'image = "docker.io/vllm/vllm-openai:latest"\n', 3, "service.a.image", "vllm ="),
        (HEAD + 'served-name = "x"\nserve.served-model-name = "y"\n', 4, "service.a.serve.served-model-name", "served-name"),
        (HEAD + 'serve.compilation-config = { mode = 3 }\nserve."compilation-config.mode" = 2\n', 4, 'service.a.serve."compilation-config.mode"', "mode"),
    ],
)  # fmt: skip
def test_what_vllm_would_refuse_is_refused_before(
    tmp_path: Path, text: str, line: int, key: str, words: str
) -> None:
    status, findings = check(tmp_path, text)
    assert status == 2
    found = next(finding for finding in findings if finding["severity"] == "error" and finding["key"] == key)
    assert found["line"] == line
    assert words in found["message"] + found["remedy"]
    assert "sk-1" not in json.dumps(findings)


def test_a_release_without_a_catalog_is_written_by_structure_alone(tmp_path: Path) -> None:
    head = HEAD.replace("service.a", "service.mine")
    status, findings = check(tmp_path, head + 'vllm = "0.34.0"\nserve.whatever = true\n')
    assert status == 0
    assert [(finding["severity"], finding["code"]) for finding in findings] == [
        ("warning", "release-unknown")
    ]


def test_another_release_is_compared_with_the_one_of_the_image(tmp_path: Path) -> None:
    text = HEAD + 'image = "docker.io/vllm/vllm-openai:v0.31.0"\n'
    status, findings = check(tmp_path, text, "--vllm", "0.33")
    assert status == 0
    assert any("allowed-origins" in finding["message"] for finding in findings)


def test_a_local_config_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        json.dumps({"num_attention_heads": 3, "max_position_embeddings": 64})
    )
    text = f'[service.a]\nmodel = "{tmp_path}"\nserve.tensor-parallel-size = 2\n'
    status, findings = check(tmp_path, text)
    assert status == 2
    assert any("heads" in finding["message"] for finding in findings if finding["severity"] == "error")


def test_render_refuses_what_no_words_can_be_made_of(tmp_path: Path) -> None:
    spec = tmp_path / "quadgen.toml"
    spec.write_text(HEAD + "serve.max-num-sqes = 3\n", encoding="utf-8")
    done = CliRunner().invoke(cli, ["render", "--file", str(spec)])
    assert done.exit_code == 2
    assert done.stdout == ""


def exec_of(tmp_path: Path, text: str) -> str:
    spec = tmp_path / "quadgen.toml"
    spec.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(cli, ["render", "--podman", "5.4", "--file", str(spec)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_preprocessing_service_needs_no_gpu(tmp_path: Path) -> None:
    text = exec_of(tmp_path, HEAD + 'command = "launch render"\n')
    assert 'Entrypoint=["vllm"]\nExec=launch render org/m --host 0.0.0.0' in text
    assert "AddDevice" not in text


def test_files_that_options_name_are_mounted(tmp_path: Path) -> None:
    text = exec_of(
        tmp_path,
        HEAD + 'serve.chat-template = "/srv/t.jinja"\nserve.ssl-certfile = "/vllm-workspace/c.pem"\n'
        'serve.speculative-config = { model = "/srv/drafter", num_speculative_tokens = 2 }\n',
    )
    assert "Volume=/srv/t.jinja:/srv/t.jinja:ro" in text
    assert "Volume=/srv/drafter:/srv/drafter:ro" in text
    assert "Volume=/vllm-workspace" not in text


def test_options_are_found_by_word_and_told_by_name() -> None:
    table = CliRunner().invoke(cli, ["options", "kv-cache"])
    assert table.exit_code == 0
    assert max(map(len, table.stdout.splitlines())) <= 80
    assert "kv-cache-dtype" in table.stdout
    card = CliRunner().invoke(cli, ["options", "--kv-cache-dtype", "--vllm", "0.32"])
    assert card.exit_code == 2  # an option of quadgen itself it is not
    card = CliRunner().invoke(cli, ["options", "kv_cache_dtype", "--vllm", "0.32", "--json"])
    (told,) = json.loads(card.stdout)
    assert told["name"] == "kv-cache-dtype"
    assert "fp8" in told["choices"]


def test_an_option_that_is_gone_says_since_when() -> None:
    done = CliRunner().invoke(cli, ["options", "swap-space"])
    assert done.exit_code == 2
    assert "removed in 0.18" in done.stderr
