"""Where the test host keeps what it makes: everything in one ignored folder of the checkout."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
STATE = CHECKOUT / ".test-host"
VLLM_VERSION = "0.32.0"
VLLM = STATE / f"vllm-{VLLM_VERSION}"
MODELS = STATE / "models"


def rootfs(release: str) -> Path:
    """The built root folder of a release; nothing writes to it after the build."""
    return STATE / release


def image_store(release: str) -> Path:
    """The Podman storage with the test images, from which every boot takes its own copy."""
    return STATE / f"{release}-containers"
