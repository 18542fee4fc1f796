"""What rendering hands to the encoders: one key with its value, not yet written for any Podman."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from quadgen.findings import KeyPath

# A scalar, a list of words, or names with values: which of them a key takes follows from its type.
Value: TypeAlias = str | bool | int | tuple[str, ...] | tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """One key of one section of a unit file.

    Args:
        section: `Container`, `Service`, `Unit`, …
        key: The key's name as Quadlet or systemd spells it.
        value: What the reader shall receive, byte for byte; the encoders add what the way there eats.
        raw: The value is the user's own unit-file text: checked and written as it is.
        path: Where the value comes from in the spec, for findings.
    """

    section: str
    key: str
    value: Value
    raw: bool = False
    path: KeyPath = ()


class UnitFile(NamedTuple):
    """One file for the Quadlet folder.

    Args:
        name: File name, such as `vllm-qwen.container`.
        text: The whole content.
        services: The spec's services that need it, sorted.
    """

    name: str
    text: str
    services: tuple[str, ...]
