"""A real host for tests: systemd, rootless Podman and Quadlet in a booted root folder, with the real vLLM."""

from .command import TestHostError
from .debian import RELEASES, cannot_host, generator
from .images import BASE_IMAGE, VLLM_IMAGE, build_images
from .machine import Host
from .places import VLLM
from .rootfs import build
from .specs import tiny_service
from .vllm_environment import base_prefix, make_environment, make_model

__all__ = [
    "BASE_IMAGE",
    "RELEASES",
    "VLLM",
    "VLLM_IMAGE",
    "Host",
    "TestHostError",
    "base_prefix",
    "build",
    "build_images",
    "cannot_host",
    "generator",
    "make_environment",
    "make_model",
    "tiny_service",
]
