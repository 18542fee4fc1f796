"""Every error that a user can meet.

QuadgenError            what was asked for failed (exit status 1)
├── SpecError           the spec, or a value in it, cannot become units (exit status 2)
├── UsageError          a command line that makes no sense (exit status 2)
├── EncodeError         a value that no unit file can carry to its reader intact (exit status 2)
├── TargetError         a Podman release that quadgen cannot write for (exit status 2)
├── HostError           a program of the machine is missing, or failed
└── DeployError         installing or removing unit files failed

Each says what is wrong and, in `remedy`, what to do about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quadgen.findings import Finding


class QuadgenError(Exception):
    """What was asked for failed.

    Args:
        message: What is wrong, in one line, with the value and its place.
        remedy: What to do about it, in one line.
    """

    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class SpecError(QuadgenError):
    """The spec cannot become units; `findings` has one entry for each thing that is wrong."""

    exit_status = 2

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(findings[0].message, findings[0].remedy)
        self.findings = tuple(findings)


class UsageError(QuadgenError):
    """The command line makes no sense."""

    exit_status = 2


class EncodeError(QuadgenError):
    """A value cannot be written so that its reader gets it intact."""

    exit_status = 2


class TargetError(QuadgenError):
    """The Podman release is one that quadgen cannot write units for."""

    exit_status = 2


class HostError(QuadgenError):
    """A program of the machine is missing, or failed."""


class DeployError(QuadgenError):
    """Installing or removing unit files failed."""
