"""How `quadgen status` shows services."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quadgen.cli.table import Column, cell, cut, widths
from quadgen.deploy.condition import age, number, reason_words
from quadgen.probe.clock import span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from quadgen.deploy.status import ServiceStatus

_COLUMNS = (
    Column(title="SERVICE", least=12),
    Column(title="STATE"),
    Column(title="SINCE", align=">"),
    Column(title="RESTARTS", align=">"),
    Column(title="ADDRESS", least=14, keep="end"),
    Column(title="MODEL", least=12, keep="end"),
)
_COLOURS = {
    **dict.fromkeys(("serving", "busy", "asleep", "running"), "green"),
    **dict.fromkeys(("loading", "restarting", "draining", "degraded", "unknown", "not-loaded"), "yellow"),
    **dict.fromkeys(("failed", "dead", "hung", "misconfigured", "masked"), "red"),
}
_MOST_STARTS, _MOST_VERDICTS = 5, 5

_LOG = ("journalctl --user -u {name} -n 100", "read the log")
_FOLLOW = ("journalctl --user -f -u {name}", "follow the log")
_START = ("quadgen start {name}", "try again, when the reason is mended")
_LOOK = ("quadgen probe once {name}", "look at all levels now")
_STOP = ("quadgen stop {name}", "end it")
# What to type next, by state.
_NEXT: dict[str, tuple[tuple[str, str], ...]] = {
    "serving": (_LOOK, _FOLLOW),
    "busy": (_LOOK, _FOLLOW),
    "asleep": (_LOOK, _FOLLOW),
    "running": (_FOLLOW,),
    "loading": (_FOLLOW, _STOP),
    "restarting": (_LOG, ("quadgen stop {name}", "end the attempts")),
    "draining": (_FOLLOW,),
    "degraded": (_LOOK, _LOG),
    "hung": (_LOOK, _LOG),
    "dead": (_LOOK, _LOG),
    "misconfigured": (
        _LOOK,
        ("quadgen install", "write unit and probe file anew"),
        ("quadgen restart {name}", "serve what they say"),
    ),
    "unknown": (_LOOK, _LOG),
    "failed": (_LOG, _START),
    "stopped": (("quadgen start {name}", "serve"),),
    "masked": (("systemctl --user unmask {name}", "let it start"),),
    "not-loaded": (("systemctl --user daemon-reload", "let systemd read the files"),),
    "removed": (("quadgen install", "bring it back, if the spec has it"),),
}


def table(services: Sequence[ServiceStatus], now: float, width: int) -> Iterator[str]:
    """One row a service, and below it the reason of its state."""
    rows = [_row(one, now) for one in services]
    wide = widths(_COLUMNS, rows, width)
    yield _line([column.title for column in _COLUMNS], wide)
    for one, row in zip(services, rows, strict=True):
        yield _line(row, wide, state=one.condition.state)
        if one.condition.evidence:
            yield "  " + cut(one.condition.evidence, width - 2)


def whole(one: ServiceStatus, now: float) -> str:
    """All that is known of one service."""
    how = one.condition
    since = f" for {age(now - how.since)}" if how.since is not None else ""
    head = f"{one.service.name}: {_coloured(how.state, how.state)}{since}"
    lines = [head, *_indented(_facts(one, now)), *_starts(one, now), *_verdicts(one, now)]
    name = one.service.name
    steps = [(command.format(name=name), what) for command, what in _NEXT[how.state]]
    wide = max(len(command) for command, _ in steps)
    return "\n".join([*lines, "  next", *(f"    {command:{wide}}   {what}" for command, what in steps)])


def _row(one: ServiceStatus, now: float) -> list[str]:
    since = one.condition.since
    return [
        one.service.name,
        one.condition.state,
        age(now - since) if since is not None else "-",
        "-" if one.restarts is None else str(one.restarts),
        one.service.address or "-",
        one.service.model or "-",
    ]


def _line(cells: Sequence[str], wide: Sequence[int], *, state: str = "") -> str:
    shown = [cell(text, width, column) for text, width, column in zip(cells, wide, _COLUMNS, strict=True)]
    if state:
        shown[1] = _coloured(state, shown[1])
    return "  ".join(shown).rstrip()


def _coloured(state: str, text: str) -> str:
    return click.style(text, fg=_COLOURS[state]) if state in _COLOURS else text


def _facts(one: ServiceStatus, now: float) -> Iterator[tuple[str, str]]:
    yield "why", one.condition.evidence
    yield "model", one.service.model
    if one.service.probe:
        yield "names", ", ".join(one.service.probe.server.names)
    yield "address", one.service.address
    if one.service.path:
        yield "file", _with_tilde(one.service.path)
    if one.unit:
        active = f"{one.unit.name}, {one.unit.active} ({one.unit.sub})"
        yield "unit", active + (f", {one.unit.result}" if one.unit.result != "success" else "")
        yield "restarts", str(one.restarts)
    yield "watch", _watch(one, now)


def _watch(one: ServiceStatus, now: float) -> str:
    looked = number(one.watch, "looked")
    parts = []
    if one.watcher and one.watcher.load == "loaded":
        parts.append(f"{one.watcher.active} ({one.watcher.sub})")
    if looked is not None:
        parts.append(f"last written down {age(now - looked)} ago")
    return ", ".join(parts)


def _indented(facts: Iterator[tuple[str, str]]) -> list[str]:
    return [f"  {label:9}{text}" for label, text in facts if text]


def _starts(one: ServiceStatus, now: float) -> Iterator[str]:
    last = list(reversed(one.starts))[:_MOST_STARTS]
    if not last:
        return
    yield "  starts, the last one first" + (
        f" ({len(one.starts)} known)" if len(one.starts) > len(last) else ""
    )
    for start in last:
        yield from _start(start, now)


def _start(start: Mapping[str, Any], now: float) -> Iterator[str]:
    took, ended = number(start, "seconds"), number(start, "ended")
    words = [str(start.get("outcome", "unknown"))]
    if took is not None:
        words.append(f"after {span(took)} of loading")
    began = number(start, "began")
    if ended is not None and began is not None:
        words.append(f"ended {age(ended - began)} after it began")
    yield f"    {_clock(began if began is not None else ended, now)}  {', '.join(words)}"
    reason = start.get("reason")
    # One that somebody ended has no reason worth a line.
    if start.get("outcome") == "failed":
        yield from _told(reason_words(reason) or str(start.get("exit", "")), "why")
        yield from _told(str(reason.get("remedy", "")) if isinstance(reason, dict) else "", "remedy")
    yield from _told(str(start.get("note", "")), "note")
    phases = start.get("phases")
    if isinstance(phases, dict):
        yield from _told(", ".join(f"{name} {seconds:g}s" for name, seconds in _seconds(phases)), "phases")


def _seconds(phases: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    from quadgen.probe.phases import PHASES  # noqa: PLC0415 - its patterns, for this view only

    labels = {phase.name: phase.label for phase in PHASES}
    for name in phases:
        seconds = number(phases, name)
        if seconds:
            yield labels.get(name, name), seconds


def _told(text: str, label: str) -> Iterator[str]:
    if text:
        yield f"      {label:8}{text}"


def _verdicts(one: ServiceStatus, now: float) -> Iterator[str]:
    rows = one.watch.get("verdicts")
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if found:
        yield "  verdicts, the last one first"
    for row in list(reversed(found))[:_MOST_VERDICTS]:
        yield f"    {_clock(number(row, 'at'), now)}  {row.get('state')}: {row.get('evidence', '')}"


def _clock(at: float | None, now: float) -> str:
    """A time of today by the clock, an older one with its day."""
    if at is None:
        return "-"
    here = time.localtime(at)
    today = time.strftime("%Y-%m-%d", here) == time.strftime("%Y-%m-%d", time.localtime(now))
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", here)


def _with_tilde(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
