"""What Podman knows about an image that is on this machine."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from quadgen.errors import HostError

if TYPE_CHECKING:
    from quadgen.host.run import Runner

# The official images carry them from 0.21 on: their Dockerfile.
_LABELS = ("ai.vllm.image.tag", "org.opencontainers.image.version")


def vllm_release(runner: Runner, image: str) -> str | None:
    """The vLLM release that an image's labels name; None where it is not here, or names none.

    Args:
        runner: Starts `podman`, which fetches nothing for it.
        image: The image reference.
    """
    try:
        done = runner.run(["podman", "image", "inspect", "--format", "{{json .Config.Labels}}", "--", image])
    except HostError:
        return None
    try:
        labels = json.loads(done.stdout) if done.status == 0 else None
    except ValueError:
        return None
    for label in _LABELS:
        found = re.match(r"v?(\d+\.\d+\.\d+)", str((labels or {}).get(label, "")))
        # A distribution's base image may leave a version of its own under the common label.
        if found and found[1].startswith("0."):
            return found[1]
    return None
