"""What installing would change, file by file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from quadgen.host.services import generated_service

if TYPE_CHECKING:
    from pathlib import Path

    from quadgen.deploy.place import Place
    from quadgen.findings import Finding

Action: TypeAlias = Literal["create", "update", "remove", "unchanged", "edited", "foreign", "conflict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What happens to one file.

    Args:
        action: `edited` files and `foreign` ones are left alone; a `conflict` stops the whole plan.
        path: Where the file lies, or will.
        services: The spec's services that need it.
        old: Its content now; None where there is no such file.
        new: What quadgen would write; None where there is nothing to write.
        reason: Why, where the action does not say it.
    """

    action: Action
    path: Path
    services: tuple[str, ...] = ()
    old: str | None = None
    new: str | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def changes(self) -> bool:
        """Whether the file is written or removed."""
        return self.action in {"create", "update", "remove"}

    @property
    def service(self) -> str | None:
        """The systemd service that Quadlet makes of it."""
        text = self.new if self.action in {"create", "update", "conflict"} else self.old
        return generated_service(self.name, text or "")

    def diff(self) -> str:
        """A unified diff from the content now to the content afterwards."""
        import difflib  # noqa: PLC0415 - only shown on request

        lines = difflib.unified_diff(
            (self.old or "").splitlines(),
            (self.new or "").splitlines(),
            f"installed/{self.name}",
            f"rendered/{self.name}",
            lineterm="",
        )
        return "\n".join(_printable(line) for line in lines)


@dataclass(frozen=True, slots=True)
class Plan:
    """The difference between what is installed and what is wanted.

    Args:
        place: quadgen's folder.
        entries: One for each file, by name.
        findings: What the user should know; with an error among them the plan is not applied.
    """

    place: Place
    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...] = field(default=())

    @property
    def changes(self) -> tuple[Entry, ...]:
        """The entries that change something on disk."""
        return tuple(entry for entry in self.entries if entry.changes)

    @property
    def blocked(self) -> bool:
        """Whether something forbids to apply it."""
        return any(finding.severity == "error" for finding in self.findings)

    @property
    def kept(self) -> tuple[Entry, ...]:
        """The files of quadgen that are there afterwards."""
        return tuple(e for e in self.entries if e.action in {"create", "update", "unchanged", "edited"})


def _printable(line: str) -> str:
    return "".join(
        char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in line
    )
