"""What can only be said about several keys together: which assignment counts, and which need another."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from quadgen.quadlet.encode import encode_word
from quadgen.quadlet.keys import find_key
from quadgen.quadlet.quirks import TRUE_WORDS
from quadgen.quadlet.refusal import Refusal
from quadgen.quadlet.version import OLDEST, PodmanVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from quadgen.findings import Finding
    from quadgen.quadlet.assignment import Assignment

_NUMBER = r"0|[1-9]\d*"
# From here on User takes names, Group needs User, and ReadOnly leaves the temporary folders writable.
_USER_NAMES = PodmanVersion(4, 8)
_ANY = PodmanVersion(999, 0)

# Key: what must be beside it, from which release on, and until which.
_NEEDS = {
    ("Container", "Group"): (("User", _USER_NAMES, _ANY),),
    ("Container", "RemapGid"): (("RemapUsers", OLDEST, _ANY),),
    ("Container", "RemapUid"): (("RemapUsers", OLDEST, _ANY),),
    ("Network", "Gateway"): (("Subnet", OLDEST, _ANY),),
    ("Network", "IPRange"): (("Subnet", OLDEST, _ANY),),
    ("Volume", "Options"): (("Device", OLDEST, PodmanVersion(6, 0)),),
    ("Volume", "Type"): (("Device", OLDEST, _ANY),),
}
_EXCLUDES = {
    ("Container", "ReloadSignal"): ("ReloadCmd",),
    ("Container", "RemapUsers"): ("UserNS", "UIDMap", "GIDMap", "SubUIDMap", "SubGIDMap"),
}


def effective(assignments: Iterable[Assignment]) -> list[Assignment]:
    """The assignments that count: the last one of a single key, and none from before an empty raw one.

    A raw list becomes one assignment a line.
    """
    found: dict[tuple[str, str], list[Assignment]] = {}
    order: list[Assignment] = []
    for assignment in _lines(assignments):
        key = find_key(assignment.section, assignment.key)
        if key is None:
            order.append(assignment)
            continue
        earlier = found.setdefault((key.section, key.name), [])
        clears = assignment.raw and not str(assignment.value).strip() and key.name != "Entrypoint"
        if clears or not key.repeatable:
            order = [one for one in order if not any(one is other for other in earlier)] if earlier else order
            earlier.clear()
        if not clears:
            earlier.append(assignment)
            order.append(assignment)
    return order


def _lines(assignments: Iterable[Assignment]) -> Iterator[Assignment]:
    for assignment in assignments:
        value = assignment.value
        if not assignment.raw:
            yield assignment
        elif isinstance(value, bool):
            yield replace(assignment, value="true" if value else "false")
        elif isinstance(value, tuple):
            for number, text in enumerate(value):
                yield _one_line(assignment, number, text)
        else:
            yield replace(assignment, value=str(value))


def _one_line(assignment: Assignment, number: int, text: Sequence[str]) -> Assignment:
    if isinstance(text, str):
        return replace(assignment, value=text, path=(*assignment.path, number))
    # A table is no text of a unit file, so it is written as any other names with values.
    return replace(assignment, value=((text[0], text[1]),), raw=False, path=(*assignment.path, text[0]))


def completed(assignments: Sequence[Assignment], version: PodmanVersion) -> list[Assignment]:
    """The assignments with what an old Podman needs beside them."""
    container = {one.key: one for one in assignments if one.section == "Container"}
    if version >= _USER_NAMES:
        return list(assignments)
    found = list(assignments)
    user, group = container.get("User"), container.get("Group")
    if any(one and not re.fullmatch(_NUMBER, str(one.value)) for one in (user, group)):
        found = _with_user_flag(found, user, group)
    read_only = container.get("ReadOnly")
    if (
        read_only
        and str(read_only.value).lower() in TRUE_WORDS
        and not container.keys() & {"ReadOnlyTmpfs", "VolatileTmp"}
    ):
        found.append(replace(read_only, key="PodmanArgs", value="--read-only-tmpfs=true", raw=True))
    return found


def _with_user_flag(
    assignments: list[Assignment], user: Assignment | None, group: Assignment | None
) -> list[Assignment]:
    parts = [_unexpanded(one) if one else "0" for one in (user, group)]
    text = encode_word("--user=" + (":".join(parts) if group else parts[0]), "")
    place = user or group
    assert place is not None  # noqa: S101  the caller found one of them
    flag = replace(place, key="PodmanArgs", value=text, raw=True)
    return [flag if one is place else one for one in assignments if one is place or one not in (user, group)]


def _unexpanded(assignment: Assignment) -> str:
    value = str(assignment.value)
    return value if assignment.raw else value.replace("%", "%%").replace("$", "$$")


def conflicts(assignments: Sequence[Assignment], version: PodmanVersion) -> list[Finding]:
    """Keys for which the generator fails the unit, as another one is missing beside them or excludes them."""
    given = {(one.section, one.key) for one in assignments}
    missing = [
        _conflict(one, f"needs {other} beside it", f"add {other}=")
        for one in assignments
        for other, since, before in _NEEDS.get((one.section, one.key), ())
        if (one.section, other) not in given and version.may_be(since, before)
    ]
    return missing + [
        _conflict(one, f"cannot stand beside {other}", "leave one of them out")
        for one in assignments
        for other in _EXCLUDES.get((one.section, one.key), ())
        if (one.section, other) in given
    ]


def _conflict(one: Assignment, what: str, remedy: str) -> Finding:
    return Refusal("conflict", f"{one.key} in [{one.section}] {what}", remedy).finding(one.path)
