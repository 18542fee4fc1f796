"""Container images for the hosts, made without a registry and kept in a storage that every boot copies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .command import TestHostError, building, is_built, locked, recipe_hash, say
from .machine import Host
from .places import VLLM, VLLM_VERSION, image_store
from .rootfs import IMAGE_RECIPE, RECIPE, UID, build_image_archive

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BASE_IMAGE = "localhost/quadgen-base:latest"
VLLM_IMAGE = f"localhost/quadgen-vllm:v{VLLM_VERSION}"
# The same entrypoint words as the official image, but for the program's folder.
CONTAINERFILES: Mapping[str, str] = {
    VLLM_IMAGE: f'FROM {BASE_IMAGE}\nENTRYPOINT ["{VLLM}/bin/vllm", "serve"]\n',
}
ARCHIVE_INSIDE = "/mnt/root.tar"


def recipe(release: str) -> str:
    """Name what the storage of a release holds, the Podman that wrote it included."""
    return recipe_hash(release, RECIPE, IMAGE_RECIPE, CONTAINERFILES)


def build_images(release: str) -> Path:
    """Import the images into the release's storage unless they are there; boots the host for a moment."""
    store = image_store(release)
    with locked(store):
        if not is_built(store, recipe(release)):
            archive = build_image_archive()
            say(f"importing images for {release}")
            with building(store, recipe(release)) as work:
                os.chown(work, UID, UID)
                fill(Host(release), work, archive)
    return store


def fill(host: Host, storage: Path, archive: Path) -> None:
    """Import the base image in a host that keeps its storage, and build the others from it."""
    host.boot([f"{archive}:{ARCHIVE_INSIDE}"], storage=storage)
    try:
        checked(host, ["podman", "import", "--quiet", ARCHIVE_INSIDE, BASE_IMAGE])
        for image, text in CONTAINERFILES.items():
            checked(host, ["podman", "build", "--quiet", f"--tag={image}", "-"], text)
    finally:
        host.stop()


def checked(host: Host, argv: list[str], text: str | None = None) -> None:
    """Run a command in the host; an exit status but 0 is a TestHostError."""
    done = host.run(argv, input=text)
    if done.returncode:
        raise TestHostError(f"{' '.join(argv[:2])} failed in {host.release}: {done.stderr.strip()}")
