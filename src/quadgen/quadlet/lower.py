"""From what rendering wants to say to lines that one Podman release reads in just that way."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from quadgen.errors import EncodeError
from quadgen.quadlet import encode
from quadgen.quadlet.keys import Key, find_key, section_since
from quadgen.quadlet.names import check_name, check_section
from quadgen.quadlet.quirks import Case, key_carries, mount_source, too_old
from quadgen.quadlet.raw import check_text, has_octal, split_text
from quadgen.quadlet.refusal import Refusal
from quadgen.quadlet.systemd import systemd_lines
from quadgen.quadlet.together import completed, conflicts, effective
from quadgen.quadlet.version import PodmanVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from quadgen.findings import Finding, KeyPath
    from quadgen.quadlet.assignment import Assignment

ORDER = ("Unit", "Container", "Pod", "Volume", "Network", "Image", "Build", "Quadlet", "Service", "Install")
# A list of words here is one text of JSON, which Podman takes apart again.
_JSON_KEYS = frozenset(("Entrypoint", "HealthCmd", "HealthStartupCmd"))
_QUADLET_SECTION = PodmanVersion(5, 3)
_LOG_DRIVER = PodmanVersion(4, 5)
_NEVER = PodmanVersion(999, 0)
_OCTAL = PodmanVersion(5, 4)
_POD_ENVIRONMENT = PodmanVersion(5, 6)
# What the generator adds of its own to the command: names, paths, flags.
_ROOM_FOR_COMMAND = 16 * 1024


class Section(NamedTuple):
    """One section of a unit file, with its finished lines."""

    name: str
    lines: tuple[str, ...]


class Lowered(NamedTuple):
    """What the assignments became.

    Args:
        sections: In the order of a unit file; none is empty.
        findings: One for each assignment that was refused; its lines are missing from `sections`.
    """

    sections: tuple[Section, ...]
    findings: tuple[Finding, ...]

    def text(self) -> str:
        """The sections as a unit file has them."""
        return "\n".join(
            f"[{section.name}]\n" + "".join(f"{line}\n" for line in section.lines)
            for section in self.sections
        )


class _Line(NamedTuple):
    section: str
    key: str
    text: str
    path: KeyPath

    def __str__(self) -> str:
        return f"{self.key}={self.text}"


def lower(assignments: Sequence[Assignment], version: PodmanVersion) -> Lowered:
    """Write the assignments of one unit file for that Podman.

    Args:
        assignments: All of the file, in the order in which their lines shall stand in each section.
        version: The Podman whose generator reads the file.
    """
    counting = completed(effective(assignments), version)
    counts = Counter((one.section, one.key) for one in counting)
    counts.update(
        {(one.section, one.key): len(one.value) - 1 for one in counting if isinstance(one.value, tuple)}
    )
    lines: list[_Line] = []
    findings = conflicts(counting, version)
    for one in counting:
        try:
            new = _lower_one(one, version, counts[one.section, one.key])
            _check_lengths(new)
            lines += new
        except Refusal as refusal:
            findings.append(refusal.finding(one.path))
        except EncodeError as error:
            findings.append(
                Refusal("unsendable-value", f"{one.key}: {error.message}", error.remedy).finding(one.path)
            )
    lines += _variables(lines, version)
    findings += _check_command(lines)
    return Lowered(_sections(lines), tuple(findings))


def _lower_one(one: Assignment, version: PodmanVersion, count: int) -> list[_Line]:
    check_section(one.section)
    if one.section == "Quadlet" and version < _QUADLET_SECTION:
        check_name(one)
        # What its one key turns off does not exist there, and systemd would warn of the section.
        return []
    check_name(one)
    key = find_key(one.section, one.key)
    if key is None:
        return [_Line(one.section, one.key, text, one.path) for text in systemd_lines(one, version)]
    since = section_since(one.section)
    if since and version < since:
        raise too_old(f"[{one.section}]", _case(key, one, version, count), str(since))
    return _lower_quadlet(one, key, _case(key, one, version, count))


def _case(key: Key, one: Assignment, version: PodmanVersion, count: int) -> Case:
    return Case(key.section, key.name, version, count, one.raw)


def _lower_quadlet(one: Assignment, key: Key, case: Case) -> list[_Line]:
    if one.raw:
        text = check_text(str(one.value))
        values = split_text(text, key.kind, case.version)
    else:
        text = None
        values = _values(one, key)
    if key.kind in ("string", "list") and "" in values and key.name != "Entrypoint":
        raise Refusal("misread-value", f"an empty {key.name}= counts for nothing", "leave it out")
    if _is_dropped(key, values, case.version):
        return []
    carried = [key_carries(value, case, is_bool=key.kind == "bool") for value in values]
    in_time = case.version >= key.since
    if text is not None and in_time and all(carried) and not (has_octal(text) and case.version < _OCTAL):
        return [_Line(one.section, one.key, text, one.path)]
    if key.kind == "argv" and in_time:
        words = encode.encode_words(values, "" if one.raw else "%$")
        return [_Line(one.section, one.key, words, one.path)] if values else []
    lines: list[_Line] = []
    for value, carries in zip(values, carried, strict=True):
        lines += _value_lines(one, key, case, value, native=in_time and carries)
    return lines


def _values(one: Assignment, key: Key) -> tuple[str, ...]:
    value = one.value
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if not isinstance(value, tuple):
        return (str(value),)
    if key.name in _JSON_KEYS:
        return (json.dumps(value, ensure_ascii=False),)
    if key.kind in ("string", "bool"):
        raise Refusal("misread-value", f"{key.name} takes one value, not {len(value)}", "write one value")
    return tuple(word if isinstance(word, str) else _pair(key, *word) for word in value)


def _pair(key: Key, name: str, value: str) -> str:
    if not name or "=" in name or key.kind != "env":
        raise Refusal(
            "misread-value", f"{encode.shown(name)} is no name for {key.name}", "write a name without ="
        )
    return f"{name}={value}"


def _is_dropped(key: Key, values: tuple[str, ...], version: PodmanVersion) -> bool:
    # 4.4 forces `passthrough`, with which all output reaches the journal as well.
    return key.name == "LogDriver" and version < _LOG_DRIVER and values[0] in ("journald", "passthrough")


def _value_lines(one: Assignment, key: Key, case: Case, value: str, *, native: bool) -> list[_Line]:
    doubled = "" if one.raw else "%$"
    if native:
        try:
            return [_Line(one.section, one.key, _ENCODERS[key.kind](value, doubled), one.path)]
        except EncodeError:
            # A flag is a word, which can carry more than the key's own line.
            if key.form is None or not _has_podman_args(one.section, case.version):
                raise
    return [*_flag_lines(one, key, case, value, doubled), *_mount_dependency(one, value, doubled)]


def _encode_bool(value: str, _: str) -> str:
    return value.lower()


_ENCODERS: dict[str, Callable[[str, str], str]] = {
    "string": encode.encode_value,
    "bool": _encode_bool,
    "list": encode.encode_item,
    "strv": encode.encode_strv_word,
    "quoted-list": encode.encode_word,
    "env": encode.encode_word,
}


def _flag_lines(one: Assignment, key: Key, case: Case, value: str, doubled: str) -> list[_Line]:
    if key.form is None:
        raise too_old(f"{key.name} in [{key.section}]", case, str(key.since))
    if not _has_podman_args(one.section, case.version):
        since = max(key.since, _podman_args_since(one.section))
        raise too_old(f"{key.name}={encode.shown(value)} in [{key.section}]", case, str(since))
    if key.form_since and case.version < key.form_since:
        raise too_old(f"{key.name} in [{key.section}]", case, str(key.form_since))
    if key.form.endswith("V"):
        word = key.form[:-1] + value
    elif value.lower() in ("true", "yes", "on", "1"):
        word = key.form
    else:
        return []
    return [_Line(one.section, "PodmanArgs", encode.encode_word(word, doubled), one.path)]


def _has_podman_args(section: str, version: PodmanVersion) -> bool:
    return version >= _podman_args_since(section)


def _podman_args_since(section: str) -> PodmanVersion:
    key = find_key(section, "PodmanArgs")
    return key.since if key else _NEVER


def _mount_dependency(one: Assignment, value: str, doubled: str) -> list[_Line]:
    """What the generator would have added for the source, in words that systemd reads right."""
    source = mount_source(one.key, value)
    if not source.startswith("/"):
        return []
    return [_Line("Unit", "RequiresMountsFor", encode.encode_word(source, doubled and "%"), one.path)]


def _variables(lines: Iterable[_Line], version: PodmanVersion) -> list[_Line]:
    texts = [line for line in lines if "${QUADGEN_" in line.text]
    used = [name for name in encode.VARIABLES if any(f"${{{name}}}" in line.text for line in texts)]
    words = " ".join(f'"{name}={encode.VARIABLES[name]}"' for name in used)
    added = [_Line("Service", "Environment", words, ())] if used else []
    is_pod = any(line.section == "Pod" for line in lines)
    own = any((line.section, line.key) == ("Service", "Environment") for line in (*lines, *added))
    if is_pod and own and version < _POD_ENVIRONMENT:
        # There the generator replaces the last line of a pod's environment with this one.
        added.append(_Line("Service", "Environment", "PODMAN_SYSTEMD_UNIT=%n", ()))
    return added


def _check_lengths(lines: Iterable[_Line]) -> None:
    for line in lines:
        if len(line.text) * 4 > encode.MAX_LINE_BYTES and len(str(line).encode()) > encode.MAX_LINE_BYTES:
            raise EncodeError(
                f"the line is longer than {encode.MAX_LINE_BYTES} bytes, for which systemd refuses the unit",
                "shorten it",
            )


def _check_command(lines: Sequence[_Line]) -> list[Finding]:
    """All keys of a container end in one generated line, where a blank takes 4 bytes from 5.5 on."""
    command = [line for line in lines if line.section not in ("Unit", "Service", "Install", "Quadlet")]
    size = sum(len(line.text.encode()) + 3 * line.text.count(" ") + 64 for line in command)
    if size + _ROOM_FOR_COMMAND <= encode.MAX_LINE_BYTES:
        return []
    longest = max(command, key=lambda line: len(line.text))
    return [
        Refusal(
            "unsendable-value",
            f"the command that Podman makes of [{longest.section}] exceeds {encode.MAX_LINE_BYTES} bytes, "
            "for which systemd refuses the unit",
            f"shorten {longest.key}, or move values into a file",
        ).finding(longest.path)
    ]


def _sections(lines: Iterable[_Line]) -> tuple[Section, ...]:
    found: dict[str, list[str]] = {name: [] for name in ORDER}
    for line in lines:
        found[line.section].append(str(line))
    return tuple(Section(name, tuple(texts)) for name, texts in found.items() if texts)
