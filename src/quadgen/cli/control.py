"""What `start`, `restart` and `stop` share."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from quadgen.cli import output
from quadgen.cli.names import all_option, chosen, names_argument
from quadgen.cli.progress import display_for
from quadgen.cli.settings import common, settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quadgen.cli.settings import Settings
    from quadgen.deploy.control import Following, Progress, Verb
    from quadgen.deploy.live import LiveUnit
    from quadgen.deploy.services import InstalledService
    from quadgen.findings import Finding
    from quadgen.host.run import Runner

# After an installation systemd has read the files; here they changed some other way.
_REMEDIES = {
    "unit-not-found": "quadgen install, or systemctl --user daemon-reload",
    "stale-unit": "quadgen install, or systemctl --user daemon-reload; then quadgen restart",
}


def command_for(verb: Verb, text: str) -> click.Command:
    """The command of one verb.

    Args:
        verb: What it does.
        text: Its help.
    """

    @click.command(verb, help=text)
    @names_argument
    @all_option
    @common
    @click.option("--dry-run", is_flag=True, help="Print systemd's command lines, and run none.")
    @click.pass_context
    def command(ctx: click.Context, names: tuple[str, ...], *, everything: bool, dry_run: bool) -> None:
        from quadgen.deploy.live import live_units  # noqa: PLC0415
        from quadgen.host.run import RealRunner  # noqa: PLC0415

        settings, runner = settings_of(ctx), RealRunner()
        services = _services(verb, names, everything=everything)
        if not services:
            output.message(settings, "no service is installed")
        found = live_units(runner, [service.unit for service in services])
        findings = _obstacles(found, services) if verb != "stop" else []
        if not settings.json:
            output.report(settings, findings)
        failed = any(finding.severity == "error" for finding in findings)
        units = {service.name: found[service.unit] for service in services}
        if dry_run:
            _print_commands(settings, verb, units)
            return
        ended = [] if failed or not units else _run(settings, runner, verb, units)
        if settings.json:
            output.result(_json(verb, ended, findings))
        if failed or not all(one.good for one in ended):
            ctx.exit(1)

    return command


def _services(verb: Verb, names: Sequence[str], *, everything: bool) -> list[InstalledService]:
    from quadgen.deploy.services import InstalledService, installed_services, remembered_names  # noqa: PLC0415

    known = {service.name: service for service in installed_services(os.environ)}
    if verb == "stop" and not everything:
        # One whose unit file is gone may still run.
        known = {name: InstalledService(name=name) for name in remembered_names(os.environ)} | known
    return [known[name] for name in chosen(names, sorted(known), everything=everything)]


def _obstacles(units: Mapping[str, LiveUnit], services: Sequence[InstalledService]) -> list[Finding]:
    """What stands in the way of a start, or makes it another one than the files say."""
    from quadgen.deploy.units import verify  # noqa: PLC0415

    files = {service.unit: service.path for service in services if service.path}
    names = {service.unit: service.name for service in services}
    return [
        replace(finding, remedy=_REMEDIES.get(finding.code, finding.remedy))
        for finding in verify(units, files, names=names)
    ]


def _print_commands(settings: Settings, verb: Verb, units: Mapping[str, LiveUnit]) -> None:
    from quadgen.deploy.control import commands  # noqa: PLC0415

    lines = [" ".join(argv) for argv in commands(verb, {unit.name: unit for unit in units.values()})]
    if settings.json:
        output.result({"action": verb, "dry_run": True, "commands": lines})
    else:
        click.echo("\n".join(lines))


def _run(settings: Settings, runner: Runner, verb: Verb, units: Mapping[str, LiveUnit]) -> list[Progress]:
    from quadgen.deploy.control import Following, order  # noqa: PLC0415
    from quadgen.probe.state import folder  # noqa: PLC0415

    following = Following(runner, folder(os.environ), verb, units)
    order(runner, verb, {unit.name: unit for unit in units.values()})
    told: set[str] = set()
    try:
        _follow(following, settings, told)
    except KeyboardInterrupt:
        output.message(
            settings, f"\nno longer watching; the {verb} goes on\n    quadgen status {' '.join(units)}"
        )
    _tell_ended(settings, following, told)
    return list(following.progress.values())


def _follow(following: Following, settings: Settings, told: set[str]) -> None:
    """Show progress until all services have ended; `told` gets those whose end has been told."""
    display = display_for(settings)
    while True:
        display.show(following.look())
        if display.between:
            # A failure is news at once, whatever the other services are at.
            _tell_ended(settings, following, told)
        if following.done:
            return
        time.sleep(following.pause)


def _tell_ended(settings: Settings, following: Following, told: set[str]) -> None:
    for one in following.progress.values():
        if one.result is not None and one.service not in told:
            told.add(one.service)
            if not settings.json:
                _tell(settings, one)


def _tell(settings: Settings, one: Progress) -> None:
    """How one service ended: what, why, what to do, what systemd does."""
    colour = "green" if one.good else "red"
    if one.good:
        output.message(settings, f"{one.service}: {click.style(one.text, fg=colour)}")
        note = str(one.start.get("note", ""))
        output.message(settings, f"    {note}", detail=not note)
        return
    from quadgen.deploy.condition import reason_words  # noqa: PLC0415

    why = reason_words(dict(one.reason)) or one.line
    text = click.style(one.text, fg=colour)
    click.echo(f"{one.service}: {text}" + (f": {why}" if why else ""), err=True)
    log = f"journalctl --user -u {one.service} -n 100"
    for line in (str(one.reason.get("remedy", "")), one.next, log):
        if line:
            click.echo(f"    {line}", err=True)


def _json(verb: Verb, ended: Sequence[Progress], findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "action": verb,
        "services": [one.to_json() for one in ended],
        "findings": [finding.to_json() for finding in findings],
    }
