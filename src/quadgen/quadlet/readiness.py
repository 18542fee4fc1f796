"""Who looks whether the model answers; and the health check inside the container, for those who want that.

Podman runs it by a timer and holds `READY=1` until it first succeeds (Notify=healthy, Podman 5.2), so
that a started unit is a serving one. It ends a container whose check fails, and systemd starts it anew.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, TypeAlias

from quadgen.quadlet import endpoint
from quadgen.quadlet.assignment import Assignment
from quadgen.quadlet.version import PodmanVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.quadlet.target import Target
    from quadgen.spec.models import Service

# Notify=healthy is 5.0's, but until 5.2 it goes on waiting for a container that has ended.
_HEALTHY = PodmanVersion(5, 2)
_INNER_PORT = 8000
Mode: TypeAlias = Literal["host", "container", "off"]

# One line, since a unit's value has no others. Proxies are for others than oneself. Podman keeps 500
# characters of what it prints, which a traceback would fill before it comes to the error.
_CHECK = (
    "import json,os,ssl,sys,urllib.request as r;"
    "sys.tracebacklimit=0;"
    "h={{'Authorization':'Bearer '+os.environ.get('VLLM_API_KEY','')}};"
    "o=r.build_opener(r.ProxyHandler({{}}),r.HTTPSHandler(context=ssl._create_unverified_context()));"
    "g=lambda p:o.open(r.Request('{base}'+p,headers=h),timeout={timeout}).read();"
    "g('/health');"
    "n={{m['id'] for m in json.loads(g('/v1/models'))['data']}};"
    "m={names}-n;"
    "raise SystemExit(m and 'not served: '+', '.join(m)or 0)"
)


def health(service: Service, target: Target) -> Iterator[Assignment]:
    """The health keys of [Container]; none where nothing in the container can be asked."""
    if mode(service, target) != "container":
        return
    probe = service.probe
    values: dict[str, str] = {
        "HealthCmd": json.dumps(["python3", "-c", _script(service)], ensure_ascii=False),
        "HealthInterval": f"{probe.interval}s",
        "HealthTimeout": f"{probe.timeout}s",
        "HealthRetries": str(probe.failures),
        "HealthStartPeriod": f"{probe.startup_timeout}s",
        # Podman's own restart would go around systemd and its limits (podman#17777).
        "HealthOnFailure": "kill",
    }
    if target.podman >= _HEALTHY:
        values["Notify"] = "healthy"
    for key, value in values.items():
        yield Assignment("Container", key, value, path=("service", service.name, "probe"))


def mode(service: Service, target: Target) -> Mode:
    """Who looks at this service on this machine.

    Without a port or a socket that the host reaches, the container looks itself; without any that it can
    reach, nobody does.
    """
    if service.serve.get("headless") or service.probe.mode == "off":
        return "off"
    if service.probe.mode == "host" and not target.standalone and endpoint.url(service) is not None:
        return "host"
    return "off" if "uds" in service.serve else "container"


def _script(service: Service) -> str:
    scheme = endpoint.scheme(service)
    host, port = "127.0.0.1", _INNER_PORT
    if service.host_network:
        listen = service.listen[0]
        host, port = str(listen).rpartition(":")[0], listen.port or port
    names = "{" + ",".join(map(ascii, service.names)) + "}"
    return _CHECK.format(base=f"{scheme}://{host}:{port}", timeout=service.probe.timeout, names=names)
