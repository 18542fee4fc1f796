"""Everything that is printed: results on standard output, messages on standard error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from quadgen.errors import SpecError
from quadgen.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quadgen.cli.settings import Settings
    from quadgen.errors import QuadgenError

_COLOURS = {"error": "red", "warning": "yellow", "note": "blue"}


def result(value: Any) -> None:
    """Print a result for programs."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def message(settings: Settings, text: str, *, detail: bool = False) -> None:
    """Print a message.

    Args:
        settings: Those of this run.
        text: The message.
        detail: Only those who asked for more want to read it.
    """
    if settings.verbose or not (settings.quiet or detail):
        click.echo(text, err=True)


def report(settings: Settings, findings: Iterable[Finding]) -> None:
    """Print findings: where, what, and what to do."""
    for finding in findings:
        if settings.quiet and finding.severity != "error":
            continue
        place = ":".join(str(part) for part in (finding.file, finding.line) if part is not None)
        head = " ".join(f"{part}:" for part in (place, finding.key) if part)
        severity = click.style(finding.severity, fg=_COLOURS[finding.severity], bold=True)
        click.echo(f"{head} {severity}: {finding.message}".strip(), err=True)
        if finding.remedy:
            click.echo(f"    {finding.remedy}", err=True)


def findings_of(error: QuadgenError) -> tuple[Finding, ...]:
    """An error as findings: those of a spec, or itself."""
    if isinstance(error, SpecError):
        return error.findings
    return (Finding(severity="error", code="failed", message=error.message, remedy=error.remedy),)


def failure(settings: Settings, error: QuadgenError) -> None:
    """Print why the command failed."""
    findings = error.findings if isinstance(error, SpecError) else ()
    if settings.json:
        result(
            {
                "error": error.message,
                "remedy": error.remedy,
                "findings": [finding.to_json() for finding in findings],
            }
        )
    elif findings:
        report(settings, findings)
        count = sum(finding.severity == "error" for finding in findings)
        click.echo(f"{plural(count, 'error')}; nothing was changed", err=True)
    else:
        click.echo(f"{click.style('error', fg='red', bold=True)}: {error.message}", err=True)
        if error.remedy:
            click.echo(f"    {error.remedy}", err=True)


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
