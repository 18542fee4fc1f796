"""Which Podman release shall read the units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Self

from quadgen.errors import TargetError


@total_ordering
@dataclass(frozen=True, slots=True)
class PodmanVersion:
    """One Podman release, or every patch release of a minor one.

    An unknown patch sorts below all known ones, so `version >= since` means "certainly has it".

    Args:
        patch: None when unknown: units must then suit each patch release.
    """

    major: int
    minor: int
    patch: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """The release that `text` names: `5.4`, `5.4.2`, `4.9.4-rhel`, or what `podman --version` prints.

        Raises:
            TargetError: The text names no release, or one without Quadlet.
        """
        found = re.fullmatch(
            r"(?:podman version )?v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?(?:[-+~].*)?", text.strip()
        )
        if not found:
            raise TargetError(f"{text!r} is not a Podman version", "write it like 5.4 or 5.4.2")
        major, minor, patch = found.groups()
        version = cls(int(major), int(minor), None if patch is None else int(patch))
        if version < OLDEST:
            raise TargetError(
                f"Podman {version} has no Quadlet, which came with Podman {OLDEST}",
                "Debian 12 and Ubuntu 22.04 are too old; Debian 13, Ubuntu 24.04, RHEL 9 and Fedora have it",
            )
        return version

    def may_be(self, since: PodmanVersion, before: PodmanVersion) -> bool:
        """Whether a release that this stands for is in `since` <= release < `before`."""
        last = (self.major, self.minor, float("inf") if self.patch is None else self.patch)
        return (self.major, self.minor, self.patch or 0) < before._key and since._key <= last

    @property
    def _key(self) -> tuple[int, int, int]:
        return (self.major, self.minor, -1 if self.patch is None else self.patch)

    def __lt__(self, other: PodmanVersion) -> bool:
        return self._key < other._key

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + ("" if self.patch is None else f".{self.patch}")


OLDEST = PodmanVersion(4, 4)
NEWEST = PodmanVersion(5, 8)
# Without an installed Podman: what Debian 13 and SLES 16 have, and RHEL 10 began with.
DEFAULT = PodmanVersion(5, 4)
SUPPORTED = tuple(PodmanVersion(4, minor) for minor in range(4, 10)) + tuple(
    PodmanVersion(5, minor) for minor in range(9)
)
