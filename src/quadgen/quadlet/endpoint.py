"""Where the host reaches a service's server, if it does."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quadgen.spec.models import Service

# Who listens everywhere is asked on loopback.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


def url(service: Service) -> str | None:
    """Scheme, address and port for a probe on the host; None where there is no port to ask."""
    if socket_path(service) is not None:
        return "http://localhost"
    address = next(((one.address, one.port) for one in service.listen if one.port), None)
    if address is None or "uds" in service.serve or service.serve.get("headless"):
        return None
    host, port = _EVERYWHERE.get(address[0], address[0]), address[1]
    return f"{scheme(service)}://{f'[{host}]' if ':' in host else host}:{port}"


def scheme(service: Service) -> str:
    """Whether the server speaks TLS."""
    return "https" if "ssl-certfile" in service.serve else "http"


def socket_path(service: Service) -> str | None:
    """The server's Unix socket as the host sees it; None where it has none, or none that is mounted."""
    uds = service.serve.get("uds")
    if not isinstance(uds, str):
        return None
    inside = PurePosixPath(uds)
    for volume in sorted(service.volumes, key=lambda one: -len(one.target)):
        if inside.is_relative_to(volume.target):
            # A volume of Podman's is nowhere that the spec would know.
            return (
                str(PurePosixPath(volume.source, inside.relative_to(volume.target))) if volume.bind else None
            )
    return None
