"""What `check` and the other commands report: one finding for each thing that is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]

# A place inside the spec: table names and keys, and the index inside a list.
KeyPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result of a check.

    Args:
        severity: An error stops the command, a warning does not, a note is for completeness.
        code: Stable kebab-case name of the kind of finding, for scripts.
        message: What is wrong, with the value, in one line.
        remedy: What to do about it, in one line.
        path: Where in the spec; empty when it is not about one key.
        file: The spec file, as the user named it.
        line: Line in that file, counted from 1.
    """

    severity: Severity
    code: str
    message: str
    remedy: str = ""
    path: KeyPath = ()
    file: str | None = None
    line: int | None = None

    @property
    def key(self) -> str:
        """The place in the spec as TOML would write it: `service.vllm-qwen.gpus[0]`."""
        text = ""
        for part in self.path:
            if isinstance(part, int):
                text += f"[{part}]"
            else:
                text += f".{_bare_or_quoted(part)}" if text else _bare_or_quoted(part)
        return text

    def to_json(self) -> dict[str, Any]:
        """The finding as `--json` prints it."""
        return {
            "severity": self.severity,
            "code": self.code,
            "file": self.file,
            "line": self.line,
            "key": self.key,
            "message": self.message,
            "remedy": self.remedy,
        }


def _bare_or_quoted(part: str) -> str:
    if part and all(c.isascii() and (c.isalnum() or c in "-_") for c in part):
        return part
    escaped = part.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
