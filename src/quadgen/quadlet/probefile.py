"""The probe file of a service: all that gate and watch know about it, from the spec alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from quadgen.probe.probefile import Budgets, Needs, ProbeFile, Server
from quadgen.quadlet import endpoint, supervision
from quadgen.quadlet.container import gpu_devices, local_paths, needs_gpu

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.probe.probefile import Pull, Warmup
    from quadgen.quadlet.target import Target
    from quadgen.spec.models import Service
    from quadgen.vllm.images import Image
    from quadgen.vllm.services import Serving

# What vLLM's `--convert`, `--task` and `--runner` say a model is for, and the request that suits it.
_KINDS: dict[str, Warmup] = {
    "embed": "embedding",
    "embedding": "embedding",
    "classify": "classify",
    "score": "score",
    "reward": "pooling",
    "pooling": "pooling",
}
# vLLM's own (0.20 to 0.33), which counts where nothing is said.
GPU_MEMORY = 0.92


def text(service: Service, serving: Serving, target: Target) -> str:
    """The JSON of the probe file."""
    probe, restart = service.probe, service.restart
    file = ProbeFile(
        service=service.name,
        unit=f"{service.name}.service",
        container=service.name,
        server=_server(service),
        budgets=Budgets(
            startup_timeout=probe.startup_timeout,
            stall_timeout=probe.stall_timeout,
            wait_timeout=probe.wait_timeout,
            interval=probe.interval,
            failures=probe.failures,
            hang_timeout=probe.hang_timeout,
        ),
        needs=_needs(service, serving),
        cache_paths=tuple(_caches(service, serving.image)),
        models=tuple(dict.fromkeys((service.model, *service.lora.values()))),
        restart_attempts=restart.attempts,
        restart_window=supervision.start_limit_window(service, target),
    )
    return file.to_json()


def _server(service: Service) -> Server:
    root_path = service.serve.get("root-path")
    return Server(
        url=endpoint.url(service) or "",
        uds=endpoint.socket_path(service),
        root_path=str(root_path).rstrip("/") if root_path else "",
        tls_ca=service.probe.tls_ca,
        tls_insecure=endpoint.scheme(service) == "https" and service.probe.tls_ca is None,
        host_header=service.probe.tls_name,
        names=service.names,
        api_key_secret=service.api_key,
        warmup=_warmup(service),
    )


def _warmup(service: Service) -> Warmup:
    if not service.probe.warmup:
        return "none"
    said = (service.serve.get(name) for name in ("convert", "task", "runner"))
    return next((_KINDS[word] for word in said if isinstance(word, str) and word in _KINDS), "completion")


def _needs(service: Service, serving: Serving) -> Needs:
    secrets = (service.api_key, service.hf_token, *(use.secret for use in service.secrets.values()))
    devices = (*gpu_devices(service), *(one for one in service.devices if not one.startswith("-")))
    by_unit = service.image.endswith((".image", ".build"))
    return Needs(
        image="" if by_unit else service.image,
        pull=cast("Pull", service.pull or ("never" if service.offline else "missing")),
        secrets=tuple(dict.fromkeys(filter(None, secrets))),
        devices=tuple(dict.fromkeys(devices)),
        binds=tuple(dict.fromkeys(_binds(service, serving))),
        gpus=tuple(_gpus(service)),
        gpu_memory=_gpu_memory(service),
    )


def _binds(service: Service, serving: Serving) -> Iterator[str]:
    yield from (volume.source for volume in service.volumes if volume.bind)
    yield from local_paths(service, serving)
    yield from service.env_file


def _gpus(service: Service) -> Iterator[str]:
    """Ids of the locks: those of NVIDIA are nvidia-smi's own, the others are told apart by their vendor."""
    for gpu in service.gpus if needs_gpu(service) else ():
        vendor, _, name = gpu.rpartition("=")
        vendor = vendor.partition(".")[0] or service.accelerator
        yield name if vendor == "nvidia" or name == "all" else f"{vendor}-{name}"


def _gpu_memory(service: Service) -> float | None:
    if not needs_gpu(service) or service.accelerator != "nvidia" or "kv-cache-memory-bytes" in service.serve:
        return None
    share = service.serve.get("gpu-memory-utilization", GPU_MEMORY)
    return float(share) if isinstance(share, int | float) else GPU_MEMORY


def _caches(service: Service, image: Image) -> Iterator[str]:
    """Folders of the host in which downloads and compiled kernels grow."""
    cache = f"{image.home}/.cache"
    for volume in service.volumes:
        if volume.bind and (volume.target == cache or volume.target.startswith(f"{cache}/")):
            yield volume.source
