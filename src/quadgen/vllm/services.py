"""What a service of the spec asks of vLLM: its release, its words, and what can be said about them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from quadgen.findings import Finding
from quadgen.vllm import images
from quadgen.vllm.argv import Invocation, catalog_of, read_arguments, served_name_words
from quadgen.vllm.paths import PathUse, container_paths
from quadgen.vllm.structure import structural_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from quadgen.spec.models import Service

CONTAINER_PORT = 8000


def release_of(service: Service) -> str | None:
    """The service's vLLM release: what the spec says, else what the image's tag names."""
    return service.vllm or images.release_of(service.image)


def image_of(service: Service) -> images.Image:
    """How the service's image is started."""
    return images.facts(service.image, release_of(service))


def invocation_of(service: Service, config: Mapping[str, Any] | None = None) -> Invocation:
    """What the service asks of vLLM, as the checks look at it.

    Args:
        service: The service.
        config: The model's `config.json`; None where it is not at hand.
    """
    return Invocation(
        model=service.model,
        release=release_of(service) or "",
        served_names=service.served_name,
        options=_options(service),
        env=service.env,
        command="serve" if service.command == "serve" else "launch render",
        gpu_count=None if service.gpus == ("all",) or service.accelerator == "none" else len(service.gpus),
        config=config,
        port=CONTAINER_PORT,
        reachable=any(not listen.loopback for listen in service.listen),
        host_network=service.host_network,
        revision=service.revision or "",
    )


class Serving(NamedTuple):
    """A service as its image and its vLLM take it.

    Attributes:
        image: How the image is started.
        words: The words of all options, after model and address.
        paths: Absolute paths that the options name; none for a release without a catalog.
        findings: What forbids to write the options down, relative to the service.
    """

    image: images.Image
    words: tuple[str, ...]
    paths: tuple[PathUse, ...]
    findings: tuple[Finding, ...]


def serving_of(service: Service) -> Serving:
    """Read the service's options once, for all that rendering needs of them."""
    image, names = image_of(service), served_name_words(service.served_name)
    invocation = invocation_of(service)
    catalog = catalog_of(invocation.release)
    if not invocation.release:
        return Serving(image, (), (), (_no_release(service),))
    if catalog is None:
        return Serving(image, (*names, *structural_words(invocation.options)), (), ())
    arguments = read_arguments(invocation, catalog)
    paths = tuple(container_paths(arguments))
    return Serving(image, (*names, *arguments.words), paths, tuple(_placed(service, arguments.findings)))


def findings(service: Service, config: Mapping[str, Any] | None = None) -> Iterator[Finding]:
    """Everything that can be said about the service's vLLM before it is installed.

    Args:
        service: The service.
        config: The model's `config.json`; None where it is not at hand.
    """
    from quadgen.vllm.check import check  # noqa: PLC0415 - all the rules, which rendering does without

    if release_of(service) is None:
        yield _no_release(service)
        return
    if service.entrypoint is None and images.known(service.image) is None:
        yield Finding(
            severity="note",
            code="unknown-image",
            message=f"quadgen knows nothing about {service.image}: it is taken to start `vllm serve`",
            remedy="if it starts something else, set entrypoint",
            path=("service", service.name, "image"),
        )
    yield from _placed(service, check(invocation_of(service, config)))
    yield from _placed(service, _unwritable(service))


def upgrade_findings(service: Service, release: str) -> Iterator[Finding]:
    """What another release would break or change for the service.

    Args:
        service: The service.
        release: The other release, such as `0.33`.
    """
    from quadgen.vllm.upgrade import upgrade_findings as changes  # noqa: PLC0415

    if release_of(service) is None:
        yield _no_release(service)
    else:
        yield from _placed(service, changes(invocation_of(service), release))


def _unwritable(service: Service) -> Iterator[Finding]:
    """What vLLM writes inside the container is lost with it, and a socket there is reached by nobody."""
    for use in serving_of(service).paths:
        if use.writes and not service.brings(use.path):
            yield Finding(
                severity="error",
                code="path-not-mounted",
                message=f"vLLM writes to {use.path}, which is in no volume and goes with the container",
                remedy=f'mount its folder: volumes = ["/srv/FOLDER:{PurePosixPath(use.path).parent}"]',
                path=use.place,
            )


def _options(service: Service) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if service.probe.mode != "off" and catalog_of(release_of(service) or ""):
        # Looks every few seconds would fill the access log. Every release with a catalog has the option.
        options["disable-access-log-for-endpoints"] = "/health,/v1/models,/metrics"
    if service.revision:
        options["revision"] = service.revision
    if service.lora:
        options["enable-lora"] = True
        options["lora-modules"] = [f"{name}={path}" for name, path in service.lora.items()]
    return {**options, **service.serve}


def _placed(service: Service, found: Iterable[Finding]) -> Iterator[Finding]:
    for finding in found:
        yield replace(finding, path=("service", service.name, *finding.path))


def _no_release(service: Service) -> Finding:
    known = images.known(service.image)
    why = "its tag names none" if known else "quadgen knows nothing about that image"
    return Finding(
        severity="error",
        code="release-unnamed",
        message=f"{service.image}: which vLLM release is that? {why}",
        remedy='say it: vllm = "0.33.0" (the image prints it: podman run --rm IMAGE --version)',
        path=("service", service.name, "image"),
    )
