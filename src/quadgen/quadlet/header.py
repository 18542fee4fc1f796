"""Whose a unit file is: two comment lines at its top, and no list of files kept elsewhere.

A list beside the files gets lost (`podman quadlet rm --recursive` takes the whole folder) or goes stale; a
line inside each file cannot. It names the spec and the services, and holds a hash of all the rest, so that
an edit by hand shows. The lines begin with `#`: Quadlet before 5.4 does not take `;` for a comment. They do
not name quadgen's release: the same spec gives the same bytes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# A spec's path is absolute, so no path is ever taken for a built-in service.
BUILT_IN = "built-in "
# The spec of a file that belongs to all services alike.
WITH_THE_SERVICES = "all services"

_FIRST = "# Written by quadgen from "
_SECOND = "# quadgen: "


class Header(NamedTuple):
    """What the first two lines of a unit file say.

    Args:
        spec: Absolute path of the spec, or `built-in NAME`.
        services: The spec's services that need the file, sorted.
        intact: Nobody changed the file since it was written.
        body: All that follows the two lines.
    """

    spec: str
    services: tuple[str, ...]
    intact: bool
    body: str


def stamp(body: str, *, spec: str, services: Sequence[str]) -> str:
    """The file's text with its header.

    Args:
        body: All the rest of the file.
        spec: Absolute path of the spec, or `built-in NAME`.
        services: The spec's services that need the file.
    """
    sorted_services = tuple(sorted(services))
    digest = _digest(_first_line(spec), spec, sorted_services, body)
    return f"{_first_line(spec)}\n{_second_line(spec, sorted_services, digest)}\n{body}"


def read(text: str) -> Header | None:
    """What the header of a file says, or None for a file that quadgen did not write."""
    first, _, rest = text.partition("\n")
    second, _, body = rest.partition("\n")
    if not first.startswith(_FIRST) or not second.startswith(_SECOND):
        return None
    try:
        fields = json.loads(second.removeprefix(_SECOND))
        spec, services, digest = fields["spec"], tuple(fields["services"]), fields["sha256"]
    except (ValueError, KeyError, TypeError):
        return None
    if not (isinstance(spec, str) and all(isinstance(name, str) for name in services)):
        return None
    intact = digest == _digest(first, spec, services, body)
    # What the line says twice must agree with itself, or somebody changed its form.
    intact = intact and second == _second_line(spec, services, digest)
    return Header(spec=spec, services=services, intact=intact, body=body)


def _first_line(spec: str) -> str:
    if spec == WITH_THE_SERVICES:
        return f"{_FIRST}{spec}: `quadgen install` renews it, and `uninstall` of the last one removes it."
    if spec.startswith(BUILT_IN):
        return (
            f"{_FIRST}{_printable(spec)}: for a spec of your own run `quadgen init`, then `quadgen install`."
        )
    return f"{_FIRST}{_printable(spec)}: edit that, then run `quadgen install`."


def _second_line(spec: str, services: tuple[str, ...], digest: str) -> str:
    # JSON in ASCII keeps every path on one line, and ends in a brace: never in a backslash, which
    # would join the next line to this one.
    fields = {"services": services, "sha256": digest, "spec": spec}
    return _SECOND + json.dumps(fields, separators=(",", ":"))


def _digest(first: str, spec: str, services: tuple[str, ...], body: str) -> str:
    # Imported here: a command that only reads help has no use for it.
    import hashlib  # noqa: PLC0415

    text = f"{first}\n{_second_line(spec, services, '')}\n{body}"
    # A file edited by hand may hold bytes that are not UTF-8; they were read as surrogates.
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _printable(text: str) -> str:
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode("ascii")
        for char in text
    )
