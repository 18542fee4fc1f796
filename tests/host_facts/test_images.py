import json

import pytest

from quadgen.host.images import vllm_release
from quadgen.host.run import Completed, FakeRunner


@pytest.mark.parametrize(
    ("labels", "release"),
    [
        ({"ai.vllm.image.tag": "v0.33.0"}, "0.33.0"),
        ({"org.opencontainers.image.version": "0.31.1"}, "0.31.1"),
        ({"org.opencontainers.image.version": "22.04.1"}, None),
        ({"ai.vllm.image.tag": "nightly"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_labels_tell_the_release(labels: dict[str, str] | None, release: str | None) -> None:
    assert vllm_release(FakeRunner({"podman image inspect": json.dumps(labels)}), "a/b") == release


@pytest.mark.parametrize(
    "answers", [{}, {"podman": Completed((), 125, "", "no such image")}, {"podman": "nonsense"}]
)
def test_no_image_tells_nothing(answers: dict[str, Completed | str]) -> None:
    assert vllm_release(FakeRunner(answers), "a/b") is None
