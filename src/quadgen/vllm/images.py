"""What is known about images that carry vLLM: how they are started, and where they keep things."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RELEASE = re.compile(r"v?(\d+\.\d+(?:\.\d+)?)(?:[^\d.].*)?")


@dataclass(frozen=True, slots=True)
class Image:
    """What one repository's images have in common.

    Args:
        repository: Repository without registry and tag, or the last parts of it.
        home: Home folder of the image's user.
        command: Words that the image's entrypoint still needs before the model.
        model_option: The entrypoint takes the model as `--model` and not as its first word.
        userns: User namespace mapping that makes the mounted volumes belong to the image's user.
    """

    repository: str
    home: str = "/root"
    command: tuple[str, ...] = ()
    model_option: bool = False
    userns: str | None = None


# Official images: their Dockerfiles. NVIDIA's: the entrypoint sets up CUDA and must stay.
# Red Hat's: the documentation of its AI Inference Server.
IMAGES = (
    Image("vllm/vllm-openai"),
    Image("vllm/vllm-openai-rocm"),
    Image("vllm/vllm-openai-cpu"),
    Image("vllm/vllm-openai-xpu"),
    Image("nvidia/vllm", command=("vllm", "serve")),
    *(
        Image(f"{space}/{name}", home="/opt/app-root/src", model_option=True, userns="keep-id:uid=1001")
        for space in ("rhaiis", "rhaii")
        for name in ("vllm-cuda-rhel9", "vllm-rocm-rhel9", "vllm-cpu-rhel9", "vllm-spyre-rhel9")
    ),
)
_LIKE_OFFICIAL = Image("")


def known(reference: str) -> Image:
    """The facts about an image reference; for an unknown one, those of the official image."""
    repository = split(reference)[0]
    matches = (image for image in IMAGES if f"/{repository}".endswith(f"/{image.repository}"))
    return next(matches, _LIKE_OFFICIAL)


def split(reference: str) -> tuple[str, str]:
    """Repository and tag of an image reference; the tag is empty when there is none."""
    name = reference.partition("@")[0]
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:  # that colon was the registry's port
        return name, ""
    return repository, tag


def release(reference: str) -> str | None:
    """The vLLM release that an image's tag names, such as `0.33.0`; None when it names none."""
    match = _RELEASE.fullmatch(split(reference)[1])
    return match[1] if match else None
