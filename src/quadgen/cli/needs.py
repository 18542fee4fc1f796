"""What the services of a spec need of the machine before they can start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from quadgen.deploy.needs import Needs
from quadgen.quadlet.container import gpu_devices, local_paths
from quadgen.vllm.services import serving_of

if TYPE_CHECKING:
    from quadgen.spec.models import Service


def needs_of(service: Service) -> Needs:
    """Devices, folders, addresses, secrets and image of a service, as `missing_for_start` looks for them."""
    devices = [
        *gpu_devices(service),
        *(device.split(":")[0] for device in service.devices if device[0] == "/"),
    ]
    paths = [volume.source for volume in service.volumes if volume.bind]
    paths += local_paths(service, serving_of(service))
    secrets = [service.api_key, service.hf_token, *(use.secret for use in service.secrets.values())]
    return Needs(
        service=service.name,
        cdi=tuple(device for device in devices if "=" in device),
        binds=tuple(
            Path(path)
            for path in [*paths, *service.env_file, *(device for device in devices if "=" not in device)]
        ),
        listens=tuple((listen.address, listen.port or 0) for listen in service.listen),
        secrets=tuple(dict.fromkeys(filter(None, secrets))),
        image=service.image if service.pull == "never" or service.offline else "",
    )
