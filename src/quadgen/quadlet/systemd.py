"""The sections that systemd itself reads: [Unit] and [Service]; the generator copies their lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quadgen.quadlet.encode import encode_command, encode_item, encode_setting_word, shown
from quadgen.quadlet.raw import check_text, split_words
from quadgen.quadlet.refusal import Refusal
from quadgen.quadlet.version import PodmanVersion

if TYPE_CHECKING:
    from quadgen.quadlet.assignment import Assignment

COMMANDS = frozenset(
    ("ExecCondition", "ExecReload", "ExecStart", "ExecStartPost", "ExecStartPre", "ExecStop", "ExecStopPost")
)
# Lists of unit names. The generator puts the services of Quadlet units here, itself only from 5.5 on.
DEPENDENCIES = frozenset(
    (
        "After",
        "Before",
        "BindsTo",
        "Conflicts",
        "OnFailure",
        "OnSuccess",
        "PartOf",
        "PropagatesReloadTo",
        "PropagatesStopTo",
        "ReloadPropagatedFrom",
        "Requires",
        "Requisite",
        "StopPropagatedFrom",
        "Upholds",
        "Wants",
    )
)
_QUADLET_UNIT = r"(?<!\S)(\S+)\.(container|kube|volume|network|image|build|pod|artifact)(?!\S)"
_TRANSLATING = PodmanVersion(5, 5)
# CPUQuota=, MemoryMax= and the like take no specifiers, and elsewhere a `%` at the end stays as it is.
_PERCENTAGE = r"\d+(\.\d+)?%"


def systemd_lines(assignment: Assignment, version: PodmanVersion) -> list[str]:
    """The values of an assignment to one of systemd's own keys, each for a line of its own.

    Raises:
        Refusal: The generator or systemd would refuse the value.
        EncodeError: The value cannot arrive intact.
    """
    raw = assignment.raw
    values = [_checked(assignment.key, str(assignment.value))] if raw else _encoded(assignment)
    if assignment.key in DEPENDENCIES and version < _TRANSLATING:
        values = [re.sub(_QUADLET_UNIT, _service_name, value) for value in values]
    if assignment.key == "KillMode" and values[-1] not in ("mixed", "control-group"):
        raise Refusal(
            "misread-value",
            f"Podman refuses a unit with KillMode={values[-1]}",
            "write mixed or control-group",
        )
    return values


def _encoded(assignment: Assignment) -> list[str]:
    value = assignment.value
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, (str, int)):
        text = str(value)
        return [text if re.fullmatch(_PERCENTAGE, text) else encode_item(text, "%")]
    words = tuple(word if isinstance(word, str) else "=".join(word) for word in value)
    if not words:
        return []
    if assignment.key in COMMANDS:
        return [encode_command(words)]
    if assignment.key in DEPENDENCIES:
        return [" ".join(_unit_name(word) for word in words)]
    return [encode_setting_word(word) for word in words]


def _unit_name(word: str) -> str:
    # A backslash belongs to escaped names, and systemd keeps it here.
    if re.search(r"[\s\"']", word) or not word:
        raise Refusal("misread-value", f"{shown(word)} is no unit name", "write names such as other.service")
    return word.replace("%", "%%")


def _checked(key: str, text: str) -> str:
    text = check_text(text)
    if key in COMMANDS or key == "Environment":
        # systemd keeps escapes that it does not know, but not a quote that never closes.
        split_words(re.sub(r"\\[^\"'\\]", "_", text))
    return text


def _service_name(found: re.Match[str]) -> str:
    name, kind = found.groups()
    return f"{name}.service" if kind in ("container", "kube") else f"{name}-{kind}.service"
