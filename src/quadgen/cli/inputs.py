"""What commands work on: the spec that was asked for, and the machine that units are for."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from quadgen.cli import output
from quadgen.errors import SpecError
from quadgen.findings import Finding
from quadgen.quadlet.version import DEFAULT, NEWEST, PodmanVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from quadgen.cli.settings import Settings
    from quadgen.host.facts import Host
    from quadgen.quadlet.render import Rendered
    from quadgen.quadlet.target import Target
    from quadgen.spec import Loaded


def podman_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--podman`."""
    return click.option(
        "--podman",
        metavar="X.Y",
        help=f"Podman release to write for: 4.4 to {NEWEST}. Default: the installed one, else {DEFAULT}.",
    )(command)


def load_spec(settings: Settings) -> Loaded:
    """Find, read and check the spec.

    Raises:
        UsageError: It is not there.
        SpecError: Something in it is wrong.
    """
    from quadgen import spec  # noqa: PLC0415 - help and version do without

    source = spec.find(settings.file, os.environ, Path.cwd())
    if source.built_in and settings.file is None:
        output.message(
            settings, f"no spec found: using the {source.label}; `quadgen init` writes one to edit"
        )
    else:
        output.message(settings, f"spec: {source.label}", detail=True)
    return _with_releases(spec.load(source))


def _with_releases(loaded: Loaded) -> Loaded:
    """Fill in the vLLM releases that only the images on this machine tell."""
    from quadgen.vllm.services import release_of  # noqa: PLC0415

    if all(release_of(service) for service in loaded.spec.services):
        return loaded
    from quadgen.host.images import vllm_release  # noqa: PLC0415
    from quadgen.host.run import RealRunner  # noqa: PLC0415

    runner = RealRunner()
    services = tuple(
        service if release_of(service) else replace(service, vllm=vllm_release(runner, service.image))
        for service in loaded.spec.services
    )
    return replace(loaded, spec=loaded.spec._replace(services=services))


def target_of(settings: Settings, podman: str | None) -> Target:
    """The machine to render for: the one that was named, else this one.

    Raises:
        TargetError: That Podman has no Quadlet.
    """
    from quadgen.quadlet.target import Target  # noqa: PLC0415

    if podman is not None:
        return Target(PodmanVersion.parse(podman))
    from quadgen.host import facts  # noqa: PLC0415
    from quadgen.host.run import RealRunner  # noqa: PLC0415

    runner = RealRunner()
    found = facts.detect_podman(runner)
    if found is None:
        output.message(settings, f"Podman is not installed: written for {DEFAULT}", detail=settings.json)
        return Target()
    target = _target(found, facts.detect_systemd(runner), facts.detect_controllers(os.getuid()))
    return target._replace(data_home=_text(facts.detect_data_home(os.environ)))


def target_of_host(host: Host) -> Target:
    """The machine to render for, when all is known about it.

    Raises:
        TargetError: Its Podman has no Quadlet.
    """
    from quadgen.quadlet.target import Target  # noqa: PLC0415

    target = _target(host.podman, host.systemd, host.controllers) if host.podman else Target()
    return target._replace(data_home=_text(host.data_home))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _target(podman: str, systemd: int | None, controllers: frozenset[str] | None) -> Target:
    from quadgen.quadlet.target import Target  # noqa: PLC0415

    return Target(
        PodmanVersion.parse(podman), systemd, pids_controller=controllers is None or "pids" in controllers
    )


def render(loaded: Loaded, target: Target, names: Sequence[str] = ()) -> Rendered:
    """Render, with findings placed in the spec.

    Raises:
        SpecError: Something can't be written for the target.
    """
    from quadgen.quadlet import render as rendering  # noqa: PLC0415

    rendered = rendering.render(loaded.spec, target, loaded.source.label, names)
    return _unless_wrong(loaded, rendered, rendered.findings, target)


def examine(loaded: Loaded, target: Target, names: Sequence[str] = ()) -> Rendered:
    """Render, and check everything that can be known before an installation.

    Raises:
        SpecError: Something is wrong; all that is wrong is told at once, warnings too.
    """
    from quadgen.host.hub import model_config  # noqa: PLC0415
    from quadgen.quadlet import render as rendering  # noqa: PLC0415
    from quadgen.vllm import services  # noqa: PLC0415

    rendered = rendering.render(loaded.spec, target, loaded.source.label, names)
    about: list[Finding] = []
    for service in rendering.choose(loaded.spec, names):
        config = model_config(service.model, service.revision, os.environ)
        about += services.findings(service, config)
    return _unless_wrong(loaded, rendered, (*loaded.findings, *about, *rendered.findings), target)


def _unless_wrong(
    loaded: Loaded, rendered: Rendered, findings: Iterable[Finding], target: Target
) -> Rendered:
    located = loaded.locate(findings)
    if any(finding.severity == "error" for finding in located):
        raise SpecError(located)
    if (target.podman.major, target.podman.minor) > (NEWEST.major, NEWEST.minor):
        located.append(
            Finding(
                severity="note",
                code="newer-podman",
                message=f"Podman {target.podman} is newer than those quadgen was tried with (up to {NEWEST})",
                remedy="see what its generator says to the installed units",
            )
        )
    return type(rendered)(rendered.files, tuple(located))
