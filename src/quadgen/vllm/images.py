"""What is known about images that carry vLLM: how they are started, and where they keep things."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import NamedTuple

# Only full releases: `v0.33.0`, also with what the build is for behind it, such as `v0.33.0-cu129`.
_RELEASE = re.compile(r"v?(\d+\.\d+\.\d+)(?:(?:rc|\.post|\.dev)\d+)?(?:[-+_.][A-Za-z].*)?")
# Before this release the official image started the API server's module, which takes `--model`.
_SERVE_SINCE = (0, 11, 2)


class Image(NamedTuple):
    """What the images of one repository have in common.

    Attributes:
        repository: The last parts of the repository's name.
        home: Home folder of the image's user; caches lie in `.cache` below it.
        command: Words that the image's entrypoint still needs before the model.
        entrypoint: What the entrypoint runs, to be replaced for other commands than `serve`.
        model_option: The entrypoint takes the model as `--model` and not as its first word.
        userns: Mapping of users that makes mounted volumes belong to the image's user.
        tags: Whether tags name vLLM's release.
        accelerator: What the image is built for.
        inside: Folders whose files are the image's own, so that nothing is mounted there.
    """

    repository: str
    home: str = "/root"
    command: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ("vllm", "serve")
    model_option: bool = False
    userns: str | None = None
    tags: bool = True
    accelerator: str = "nvidia"
    inside: tuple[str, ...] = ("/vllm-workspace", "/workspace", "/usr", "/opt/venv")

    def holds(self, path: str) -> bool:
        """Whether a path is one of the image's own files."""
        return any(PurePosixPath(path).is_relative_to(folder) for folder in self.inside)


_SERVE = ("vllm", "serve")
_MODULE = ("python3", "-m", "vllm.entrypoints.openai.api_server")
_RED_HAT = Image(
    "", home="/opt/app-root/src", entrypoint=_MODULE, model_option=True, userns="keep-id:uid=1001", tags=False
)

# Official images, CUDA and others: their Dockerfiles (0.10.2 to 0.33). NVIDIA's tags are year and month, and
# its entrypoint sets CUDA up, so it must stay. AMD's own starts a shell. Red Hat's: the documentation of its
# AI Inference Server, whose tags are releases of that product.
IMAGES = (
    Image("vllm/vllm-openai"),
    Image("vllm/vllm-openai-rocm", accelerator="amd"),
    Image("vllm/vllm-openai-cpu", accelerator="none"),
    Image("vllm/vllm-openai-xpu", accelerator="intel"),
    Image("vllm-cpu-release-repo", accelerator="none"),
    Image("rocm/vllm", command=_SERVE, entrypoint=(), tags=False, accelerator="amd"),
    Image("nvidia/vllm", command=_SERVE, tags=False),
    *(
        _RED_HAT._replace(repository=f"{space}/vllm-{kind}-rhel9", accelerator=accelerator)
        for space in ("rhaiis", "rhaii")
        for kind, accelerator in (("cuda", "nvidia"), ("rocm", "amd"), ("cpu", "none"), ("spyre", "none"))
    ),
)
_LIKE_OFFICIAL = Image("")


def known(reference: str) -> Image | None:
    """What is known about an image; None for one that quadgen has no facts about."""
    repository = split(reference)[0]
    return next((image for image in IMAGES if f"/{repository}".endswith(f"/{image.repository}")), None)


def facts(reference: str, release: str | None = None) -> Image:
    """How to start an image; an unknown one is taken to be made like the official one.

    Args:
        reference: The image.
        release: Its vLLM release; None for the newest.
    """
    image = known(reference) or _LIKE_OFFICIAL
    if image.entrypoint == _SERVE and not image.command and release and _older(release):
        return image._replace(entrypoint=_MODULE, model_option=True)
    return image


def split(reference: str) -> tuple[str, str]:
    """Repository and tag of an image reference; the tag is empty when there is none."""
    name = reference.partition("@")[0]
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:  # that colon was the registry's port
        return name, ""
    return repository, tag


def release_of(reference: str) -> str | None:
    """The vLLM release that an image's tag names, such as `0.33.0`; None when it names none."""
    image = known(reference)
    match = _RELEASE.fullmatch(split(reference)[1])
    return match[1] if match and image and image.tags else None


def _older(release: str) -> bool:
    return tuple(int(part) for part in re.findall(r"\d+", release)[:3]) < _SERVE_SINCE
