"""What to say about an option that the release does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quadgen.findings import Finding
from quadgen.vllm import catalog as catalogs

if TYPE_CHECKING:
    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.option import Life

# Options of other programs, or of vLLM before the oldest catalog, that people bring along.
_FOREIGN: Final = {
    "ctx-size": "max-model-len",
    "context-length": "max-model-len",
    "n-gpu-layers": "cpu-offload-gb",
    "num-ctx": "max-model-len",
    "parallel": "max-num-seqs",
    "cache-type-k": "kv-cache-dtype",
    "cache-type-v": "kv-cache-dtype",
    "draft-model": "spec-model",
    "expert-offload-cpu": "cpu-offload-params",
    "cpu-offload-gate": "cpu-offload-params",
    "mem-fraction-static": "gpu-memory-utilization",
    "tp-size": "tensor-parallel-size",
    "num-gpus": "tensor-parallel-size",
    "chat-template-kwargs": "default-chat-template-kwargs",
    "enable-reasoning": "reasoning-parser",
    "speculative-model": "spec-model",
    "num-speculative-tokens": "spec-tokens",
    "speculative-draft-tensor-parallel-size": "speculative-config.draft_tensor_parallel_size",
    "O": "optimization-level",
}
# Engine options that end up among vLLM's: what they are there for.
_CONTAINER: Final = {
    "p": "listen",
    "publish": "listen",
    "v": "volumes",
    "volume": "volumes",
    "gpus": "gpus",
    "e": "env",
}


def unknown_option(key: str, catalog: Catalog, command: str = "serve") -> Finding:
    """The finding for a key that names no option of the release, with the way out.

    Args:
        key: The key of the `serve` table.
        catalog: The release's catalog.
        command: `serve` or `launch render`.
    """
    code, message, remedy = _reason(key, catalog, command)
    return Finding(severity="error", code=code, message=message, remedy=remedy, path=("serve", key))


def _reason(key: str, catalog: Catalog, command: str) -> tuple[str, str, str]:
    shape = _malformed(key, catalog)
    if shape:
        return shape
    if key in _CONTAINER:
        return (
            "option-of-podman",
            f"{key} is an option of podman, not of vLLM",
            f"set {_CONTAINER[key]} beside serve",
        )
    match = catalog.find(key)
    if match is not None and command != "serve":
        return "option-not-here", f"`vllm {command}` does nothing with {match.option.name}", "leave it out"
    life, whole = catalogs.life(key), _abbreviated(key, catalog)
    if whole:
        return _guessed(key, whole, life, catalog)
    if life is not None:
        return _elsewhere(key, life, catalog)
    return "option-unknown", f"vLLM {catalog.release} has no option {key}", _near(key, catalog)


def _guessed(key: str, whole: list[str], life: Life | None, catalog: Catalog) -> tuple[str, str, str]:
    """A name that vLLM's parser would complete, even where the name once meant something else."""
    meant = " or ".join(whole[:3])
    if life is not None:
        _, message, remedy = _elsewhere(key, life, catalog)
        return "option-abbreviated", f"{message}, and vLLM would take it for {meant}", remedy
    message = f"{key} is short for {meant}; vLLM guesses it today and may not tomorrow"
    return "option-abbreviated", message, f"write {whole[0]}"


def _malformed(key: str, catalog: Catalog) -> tuple[str, str, str] | None:
    words = key.split()
    if words[:1] == ["vllm"] or words[:1] == ["serve"]:
        return "command-leftover", f'"{key}": the image already runs `vllm serve`', "give options only"
    if key.startswith("-"):
        return "option-dashes", f"{key} is written with its dashes", f"write {key.lstrip('-')}"
    if "=" in key:
        name, _, rest = key.partition("=")
        return "key-value-leftover", f"{key} is an option and its value in one", f"write {name} = {rest}"
    if len(words) > 1:
        return "several-words", f'"{key}" is more than one word', "give each option a line of its own"
    if not key or not catalog.options:
        return "option-unknown", "an option has no name", ""
    return None


def _elsewhere(key: str, life: Life, catalog: Catalog) -> tuple[str, str, str]:
    use = f"use {life.replacement}" if life.replacement else ""
    later = [r for r in life.releases if catalogs.version(r) > catalogs.version(catalog.release)]
    earlier = [r for r in life.releases if catalogs.version(r) < catalogs.version(catalog.release)]
    if not earlier and later:
        return (
            "option-too-new",
            f"{key} is new in {later[0]}; this image is {catalog.release}",
            "take a newer image, or leave it out",
        )
    after = [r for r in catalogs.RELEASES if earlier and catalogs.version(r) > catalogs.version(earlier[-1])]
    gone = next(iter(after), life.gone)
    return "option-removed", f"{key} was removed in {gone}", use or "take it out: nothing replaces it"


def _abbreviated(key: str, catalog: Catalog) -> list[str]:
    """The options that vLLM's parser would take the key for."""
    start = "--" + key.partition(".")[0].replace("_", "-")
    forms = ((option.name, (*option.flags, *option.negative)) for option in catalog.options.values())
    return [name for name, spellings in forms if any(form.startswith(start) for form in spellings)]


def _near(key: str, catalog: Catalog) -> str:
    known = _FOREIGN.get(key.replace("_", "-"))
    near = ((known,) if known else ()) + catalog.near(key)
    return f"did you mean {' or '.join(near[:3])}?" if near else "`quadgen options` lists what there is"
