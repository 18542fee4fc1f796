"""The [Container] section of a service: image, command, environment, devices, network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from quadgen.quadlet.assignment import Assignment
from quadgen.quadlet.readiness import health
from quadgen.vllm.services import CONTAINER_PORT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.quadlet.assignment import Value
    from quadgen.quadlet.target import Target
    from quadgen.spec.models import Service
    from quadgen.vllm.images import Image
    from quadgen.vllm.services import Serving

WEIGHTS = "quadgen-huggingface"
# Tensor parallel workers talk through /dev/shm, where Podman gives 64 MB (vllm#1710 and many more).
_SHM_ONE_GPU, _SHM_SEVERAL = "1g", "16g"
_PARALLEL = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")


def assignments(service: Service, serving: Serving, target: Target) -> list[Assignment]:
    """All keys of [Container], in the order that they are written."""
    parts = (
        _image(service, serving),
        _gpus(service),
        _network(service),
        _files(service, serving),
        _environment(service, serving.image),
    )
    limits = (_security(service, serving.image), _limits(service, target), health(service, target))
    return [assignment for part in (*parts, *limits) for assignment in part]


def needs_gpu(service: Service) -> bool:
    """Whether the service gets any GPU."""
    return service.accelerator != "none" and bool(service.gpus) and service.command == "serve"


def cache_volume(service: Service) -> str:
    """Name of the volume that keeps what the service compiles."""
    return f"{service.name}-cache"


def command(service: Service, serving: Serving) -> tuple[str, ...]:
    """The words after the image: the model first, then every option once."""
    image = serving.image
    if service.command != "serve":
        start = (*image.command[:1], *service.command.split(), service.model)
    elif service.entrypoint:
        start = (service.model,)
    else:
        start = (*image.command, *(("--model",) if image.model_option else ()), service.model)
    return (*start, *_address_words(service), *serving.words)


def _address_words(service: Service) -> tuple[str, ...]:
    if "uds" in service.serve:
        return ()
    return ("--host", _inner_address(service), "--port", str(_inner_port(service)))


def _inner_address(service: Service) -> str:
    if service.host_network:
        return service.listen[0].address
    # Podman forwards IPv6 only to a server that listens on IPv6; `::` takes both.
    return "::" if any(":" in listen.address for listen in service.listen) else "0.0.0.0"  # noqa: S104


def _inner_port(service: Service) -> int:
    return service.listen[0].port or CONTAINER_PORT if service.host_network else CONTAINER_PORT


def _set(service: Service, key: str, value: Value, *place: str) -> Assignment:
    return Assignment("Container", key, value, path=("service", service.name, *place))


def _image(service: Service, serving: Serving) -> Iterator[Assignment]:
    yield _set(service, "ContainerName", service.name)
    yield _set(service, "Image", service.image, "image")
    if service.pull or service.offline:
        yield _set(service, "Pull", service.pull or "never", "pull")
    if service.auto_update:
        yield _set(service, "AutoUpdate", service.auto_update, "auto-update")
    entrypoint = service.entrypoint
    if service.command != "serve" and not entrypoint and not serving.image.command:
        entrypoint = ("vllm",)
    if entrypoint:
        yield _set(service, "Entrypoint", json.dumps(entrypoint, ensure_ascii=False), "entrypoint")
    yield _set(service, "Exec", command(service, serving), "serve")


def _gpus(service: Service) -> Iterator[Assignment]:
    for device in gpu_devices(service):
        yield _set(service, "AddDevice", (device,), "gpus")
    for device in service.devices:
        yield _set(service, "AddDevice", (device,), "devices")
    groups = service.groups
    if not groups and needs_gpu(service) and service.accelerator != "nvidia":
        groups = ("keep-groups",)  # /dev/dri belongs to the groups video and render
    for group in groups:
        yield _set(service, "GroupAdd", group, "groups")


def gpu_devices(service: Service) -> tuple[str, ...]:
    """CDI names and device nodes of the service's GPUs."""
    if not needs_gpu(service):
        return ()
    return tuple(device for gpu in service.gpus for device in _gpu_devices(service.accelerator, gpu))


def _gpu_devices(accelerator: str, gpu: str) -> tuple[str, ...]:
    if "=" in gpu:
        return (gpu,)
    if accelerator == "nvidia":
        return (f"nvidia.com/gpu={gpu}",)
    if gpu == "all":
        return ("/dev/kfd", "/dev/dri") if accelerator == "amd" else ("/dev/dri",)
    return (f"{accelerator}.com/gpu={gpu}",)


def _network(service: Service) -> Iterator[Assignment]:
    for network in service.network:
        yield _set(service, "Network", network, "network")
    if not service.host_network and "uds" not in service.serve:
        for listen in service.listen:
            yield _set(service, "PublishPort", listen.publish(CONTAINER_PORT), "listen")


def _files(service: Service, serving: Serving) -> Iterator[Assignment]:
    for volume in service.volumes:
        yield _set(service, "Volume", str(volume), "volumes")
    for source, target in _caches(service, serving.image):
        yield _set(service, "Volume", f"{source}.volume:{target}")
    for path in local_paths(service, serving):
        yield _set(service, "Volume", f"{path}:{path}:ro", "model")


def local_paths(service: Service, serving: Serving) -> tuple[str, ...]:
    """Paths of the host that the server reads: each is mounted read-only at its own place."""
    named = (service.model, *(use.path for use in serving.paths if not use.writes))
    inside = tuple(path for path in dict.fromkeys(named) if path.startswith("/"))
    return tuple(path for path in inside if not service.brings(path) and not serving.image.holds(path))


def _caches(service: Service, image: Image) -> Iterator[tuple[str, str]]:
    """Volumes that outlive the container, each unless the user mounts something in its place."""
    cache = f"{image.home}/.cache"
    taken = {volume.target for volume in service.volumes}
    if cache not in taken:
        yield cache_volume(service), cache
        if f"{cache}/huggingface" not in taken and not _all_local(service):
            yield WEIGHTS, f"{cache}/huggingface"


def volumes(service: Service, serving: Serving) -> tuple[str, ...]:
    """Names of the volumes that quadgen adds to a service."""
    return tuple(name for name, _ in _caches(service, serving.image))


def _all_local(service: Service) -> bool:
    drafter = service.serve.get("speculative-config", {})
    more = (drafter.get("model"),) if isinstance(drafter, dict) else ()
    named = (service.model, *service.lora.values(), *more, service.serve.get("spec-model"))
    return all(isinstance(name, str) and name.startswith("/") for name in named if name is not None)


def needs_network_at_start(service: Service) -> bool:
    """Whether a start may have to fetch an image or a model."""
    return service.pull in ("always", "newer") or not (service.offline or _all_local(service))


def _environment(service: Service, image: Image) -> Iterator[Assignment]:
    cache = f"{image.home}/.cache"
    defaults = {
        "VLLM_NO_USAGE_STATS": "1",
        # vLLM gives up by itself after 600 s; only systemd's limit shall count.
        "VLLM_ENGINE_READY_TIMEOUT_S": str(2 * service.probe.startup_timeout),
        # vLLM keeps other caches below ~/.cache, and Triton beside it.
        "TRITON_CACHE_DIR": f"{cache}/triton",
    }
    if service.accelerator == "nvidia" and needs_gpu(service):
        defaults["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    if service.offline:
        defaults |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    for file in service.env_file:
        yield _set(service, "EnvironmentFile", (file,), "env-file")
    for name, value in (defaults | service.env).items():
        yield _set(service, "Environment", ((name, value),), "env", name)
    for name, secret in (("VLLM_API_KEY", service.api_key), ("HF_TOKEN", service.hf_token)):
        if secret:
            yield _set(service, "Secret", (f"{secret},type=env,target={name}",))
    for key, use in service.secrets.items():
        yield _set(service, "Secret", (use.option(key),), "secrets", key)


def _security(service: Service, image: Image) -> Iterator[Assignment]:
    yield _set(service, "DropCapability", ("all",))
    if service.capabilities:
        yield _set(service, "AddCapability", service.capabilities, "capabilities")
    yield _set(service, "NoNewPrivileges", value=True)
    if needs_gpu(service):
        yield _set(service, "SecurityLabelDisable", value=True)
    if service.read_only:
        yield _set(service, "ReadOnly", True, "read-only")  # noqa: FBT003
    if image.userns:
        yield _set(service, "UserNS", image.userns)


def _limits(service: Service, target: Target) -> Iterator[Assignment]:
    if service.ipc:
        yield _set(service, "PodmanArgs", (f"--ipc={service.ipc}",), "ipc")
    else:
        yield _set(service, "ShmSize", service.shm_size or _shm_size(service), "shm-size")
    if service.memory:
        yield _set(service, "Memory", service.memory, "memory")
    # Podman's limit of 2048 is too low for the threads of a many-core host (podman#25703). Where the
    # controller is not delegated, crun refuses every limit but 0, which also means none.
    unlimited = -1 if target.pids_controller else 0
    yield _set(service, "PidsLimit", service.pids if service.pids is not None else unlimited, "pids")
    for name, limit in service.ulimits.items():
        yield _set(service, "Ulimit", f"{name}={limit}", "ulimits", name)
    for name, setting in service.sysctls.items():
        yield _set(service, "Sysctl", (f"{name}={setting}",), "sysctls", name)
    if service.labels:
        yield _set(service, "Label", tuple(service.labels.items()), "labels")
    yield _set(service, "LogDriver", "journald")


def _shm_size(service: Service) -> str:
    several = len(service.gpus) > 1 or any(service.serve.get(name, 1) != 1 for name in _PARALLEL)
    return _SHM_SEVERAL if several else _SHM_ONE_GPU
