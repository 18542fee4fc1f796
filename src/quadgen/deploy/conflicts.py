"""What stands in the way of a plan, and what is left alone, as findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.errors import UsageError
from quadgen.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from quadgen.deploy.installed import Installed, Rival
    from quadgen.deploy.plan import Entry
    from quadgen.quadlet.assignment import UnitFile


def entry_findings(entry: Entry) -> Iterator[Finding]:
    """What to say about one file that is left alone or in the way."""
    path = ("service", entry.services[0]) if entry.services else ()
    if entry.action == "edited" and not entry.reason:
        yield Finding(
            severity="warning",
            code="edited-unit",
            message=f"{entry.path} was edited by hand and is left as it is:\n{entry.diff()}",
            remedy="move the edit into the spec, or install with --overwrite to lose it",
            path=path,
        )
    elif entry.action == "edited":
        yield Finding(
            severity="warning",
            code="edited-unit",
            message=f"{entry.path} is {entry.reason} but was edited by hand, so it stays",
            remedy="delete it yourself, or repeat the command with --overwrite",
            path=path,
        )
    elif entry.action == "conflict":
        yield _conflict(entry, path)


def _conflict(entry: Entry, path: tuple[str, ...]) -> Finding:
    if entry.reason.startswith("/"):
        return Finding(
            severity="error",
            code="other-spec",
            message=f"{entry.path} belongs to another spec, {entry.reason}",
            remedy="rename the service in one of them, or install with --take-over",
            path=path,
        )
    return Finding(
        severity="error",
        code="foreign-unit",
        message=f"{entry.path} is in the way: {entry.reason}",
        remedy="move it away, or rename the service",
        path=path,
    )


def refuse_unknown(chosen: frozenset[str] | None, wanted: Iterable[UnitFile], installed: Installed) -> None:
    """Refuse names that neither the spec nor the installed files know.

    Raises:
        UsageError: There is one.
    """
    known = {name for file in wanted for name in file.services}
    known |= {
        name for file in (*installed.own, *installed.earlier) if file.header for name in file.header.services
    }
    for name in sorted((chosen or frozenset()) - known):
        raise UsageError(
            f"no service {name} is in the spec or installed",
            f"there are: {', '.join(sorted(known)) or 'none'}",
        )


def rival_findings(entries: Iterable[Entry], rivals: Sequence[Rival]) -> Iterator[Finding]:
    """A finding for each unit elsewhere that hides one of the plan's, or is hidden by it."""
    removed = {entry.path for entry in entries if entry.action == "remove"}
    for entry in entries:
        service = entry.service
        if entry.new is None or service is None:
            continue
        for rival in rivals:
            same_file = rival.path.name == entry.name
            if (rival.service == service or same_file) and rival.path not in removed | {entry.path}:
                yield _finding(entry, service, rival)


def _finding(entry: Entry, service: str, rival: Rival) -> Finding:
    path = ("service", entry.services[0]) if entry.services else ()
    if rival.masks and rival.wins:
        return Finding(
            severity="error",
            code="masked-unit",
            message=f"{service} is masked by {rival.path}, so it cannot start",
            remedy=f"systemctl --user unmask {service}",
            path=path,
        )
    # Two files of different names that make one service: which of them remains is Quadlet's secret.
    if rival.wins or (rival.text and rival.path.name != entry.name):
        return Finding(
            severity="error",
            code="hidden-unit",
            message=f"{rival.path} would hide {entry.name}: both are {service}",
            remedy="move that file away, or rename the service",
            path=path,
        )
    return Finding(
        severity="warning",
        code="hiding-unit",
        message=f"{entry.name} hides {rival.path}: both are {service}",
        remedy="rename the service if you want both",
        path=path,
    )
