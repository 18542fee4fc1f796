import pytest

from quadgen.vllm import images


@pytest.mark.parametrize(
    ("reference", "release"),
    [
        ("docker.io/vllm/vllm-openai:v0.33.0", "0.33.0"),
        ("vllm/vllm-openai:v0.29.0-cu129", "0.29.0"),
        ("docker.io/vllm/vllm-openai:v0.33.0-aarch64-cu130", "0.33.0"),
        ("docker.io/vllm/vllm-openai:v0.34.0rc1", "0.34.0"),
        ("docker.io/vllm/vllm-openai:v0.22.0@sha256:" + "0" * 64, "0.22.0"),
        ("registry.lan:5000/mirror/vllm/vllm-openai:v0.25.1", "0.25.1"),
        ("docker.io/vllm/vllm-openai-rocm:v0.17.0", "0.17.0"),
        ("docker.io/vllm/vllm-openai:latest", None),
        ("docker.io/vllm/vllm-openai", None),
        ("docker.io/vllm/vllm-openai:nightly-" + "a" * 40, None),
        ("docker.io/vllm/vllm-openai@sha256:" + "0" * 64, None),
        ("nvcr.io/nvidia/vllm:26.10-py3", None),
        ("registry.redhat.io/rhaii/vllm-cuda-rhel9:3.4.0", None),
        ("localhost/mine:1.2.3", None),
        ("ghcr.io/other/my-vllm-openai:v0.33.0", None),
    ],
)
def test_the_tag_names_the_release_where_tags_are_releases(reference: str, release: str | None) -> None:
    assert images.release_of(reference) == release


@pytest.mark.parametrize(
    ("reference", "release", "home", "command", "model_option"),
    [
        ("docker.io/vllm/vllm-openai:v0.33.0", "0.33.0", "/root", (), False),
        ("docker.io/vllm/vllm-openai:v0.11.2", "0.11.2", "/root", (), False),
        ("docker.io/vllm/vllm-openai:v0.11.0", "0.11.0", "/root", (), True),
        ("nvcr.io/nvidia/vllm:26.10-py3", "0.29.0", "/root", ("vllm", "serve"), False),
        ("docker.io/rocm/vllm:latest", "0.29.0", "/root", ("vllm", "serve"), False),
        ("registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.2.1", "0.22.0", "/opt/app-root/src", (), True),
        ("localhost/mine:latest", "0.33.0", "/root", (), False),
    ],
)
def test_each_image_is_started_in_its_own_way(
    reference: str, release: str, home: str, command: tuple[str, ...], *, model_option: bool
) -> None:
    image = images.facts(reference, release)
    assert (image.home, image.command, image.model_option) == (home, command, model_option)
