"""What is built and what runs, for `test-host status`."""

from __future__ import annotations

from .command import is_built
from .debian import RELEASES
from .images import recipe
from .machine import Host
from .places import MODELS, VLLM, image_store, rootfs
from .rootfs import RECIPE
from .vllm_environment import is_environment_built


def report() -> str:
    """One line for every release, and one for vLLM."""
    environment = VLLM if is_environment_built() else "not built"
    model = MODELS / "tiny"
    return "\n".join(
        [*map(line, RELEASES), f"vllm: {environment}; model: {model if model.is_dir() else 'not made'}"]
    )


def line(release: str) -> str:
    """The state of one release."""
    built = "built" if is_built(rootfs(release), RECIPE) else "not built"
    images = "images" if is_built(image_store(release), recipe(release)) else "no images"
    host = Host(release)
    running = f"booted (leader {host.leader()})" if host.is_booted() else "not booted"
    return f"{release}: {built}, {images}, {running}"
