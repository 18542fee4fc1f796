"""What the machine itself lacks to run any service: each as one finding with its remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.host.facts import Host

_FIRST_QUADLET = (4, 4)


def machine_findings(host: Host) -> Iterator[Finding]:
    """What the machine itself lacks to run any service."""
    yield from _podman_findings(host)
    if host.systemd is None or not host.booted:
        yield warning("no-systemd", "this machine does not run systemd", "run the services on one that does")
        return
    if host.manager is None:
        yield _no_manager(host)
    elif host.manager.config_home not in {None, host.config_home}:
        yield warning(
            "other-config-home",
            f"the user manager reads {host.manager.config_home}, not {host.config_home}",
            "unset XDG_CONFIG_HOME here, or set the same for the manager in ~/.config/environment.d",
        )
    if host.linger is False:
        yield warning(
            "no-linger",
            f"services of {host.user} end with the last login and do not start at boot",
            "loginctl enable-linger",
        )
    if not host.cgroup_v2:
        yield warning(
            "no-cgroup-v2",
            "this machine uses cgroup v1, and Quadlet's services need v2",
            "boot with systemd.unified_cgroup_hierarchy=1",
        )


def _podman_findings(host: Host) -> Iterator[Finding]:
    release = host.podman_release
    if host.podman is None:
        yield warning("no-podman", "Podman is not installed", "install the package podman")
    elif release is not None and release < _FIRST_QUADLET:
        yield warning("old-podman", f"Podman {host.podman} has no Quadlet", "install Podman 4.4 or newer")
    elif host.generator is None:
        yield warning(
            "no-generator",
            f"Podman {host.podman} is here without its Quadlet generator",
            "install the distribution's package with /usr/libexec/podman/quadlet",
        )


def _no_manager(host: Host) -> Finding:
    if host.runtime_dir is None:
        return warning(
            "no-user-manager",
            "XDG_RUNTIME_DIR is not set, as in a shell of su or sudo, so the user manager cannot be found",
            f"log in as {host.user}, or: export XDG_RUNTIME_DIR=/run/user/{host.uid}",
        )
    if not host.runtime_dir.is_dir():
        return warning(
            "no-user-manager",
            f"no user manager runs for {host.user}: {host.runtime_dir} does not exist",
            f"sudo loginctl enable-linger {host.user}",
        )
    return warning(
        "no-user-manager",
        f"the user manager of {host.user} does not answer",
        f"see `systemctl status user@{host.uid}.service`",
    )


def warning(code: str, message: str, remedy: str, service: str = "") -> Finding:
    """Something that does not stop an installation, though it would stop a start."""
    path = ("service", service) if service else ()
    return Finding(severity="warning", code=code, message=message, remedy=remedy, path=path)
