"""Paths among the options are found, so that they can be mounted."""

from __future__ import annotations

from quadgen.vllm.argv import Invocation, read_arguments
from quadgen.vllm.catalog import load
from quadgen.vllm.paths import container_paths


def test_every_absolute_path_is_found_with_its_place() -> None:
    options = {
        "chat-template": "/templates/a.jinja",
        "ssl_certfile": "/tls/cert.pem",
        "download-dir": "/models",
        "lora-modules": ["a=/lora/a", "b=org/b", {"name": "c", "path": "/lora/c"}],
        "speculative-config": {"method": "dflash", "model": "/drafts/d", "num_speculative_tokens": 4},
        "tokenizer": "org/name",
    }
    arguments = read_arguments(Invocation(model="m", release="0.33", options=options), load("0.33"))
    assert [(use.place, use.path, use.writes) for use in container_paths(arguments)] == [
        (("serve", "chat-template"), "/templates/a.jinja", False),
        (("serve", "ssl_certfile"), "/tls/cert.pem", False),
        (("serve", "download-dir"), "/models", True),
        (("serve", "speculative-config", "model"), "/drafts/d", False),
        (("serve", "lora-modules", 0), "/lora/a", False),
        (("serve", "lora-modules", 2), "/lora/c", False),
    ]


def test_a_template_in_the_text_is_no_path() -> None:
    options = {"chat-template": "/{% for message in messages %}"}
    arguments = read_arguments(Invocation(model="m", release="0.33", options=options), load("0.33"))
    assert list(container_paths(arguments)) == []
