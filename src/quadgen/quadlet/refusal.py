"""Why one assignment cannot be written, before it is known where in the spec it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.findings import Finding

if TYPE_CHECKING:
    from quadgen.findings import KeyPath


class Refusal(Exception):  # noqa: N818  it never leaves this folder: `lower` makes a finding of it
    """An assignment that would be lost or misread.

    Args:
        code: The finding's code.
        message: What is wrong, in one line.
        remedy: What to do about it.
    """

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy

    def finding(self, path: KeyPath) -> Finding:
        """The finding for the assignment's place in the spec."""
        return Finding(severity="error", code=self.code, message=self.message, remedy=self.remedy, path=path)
