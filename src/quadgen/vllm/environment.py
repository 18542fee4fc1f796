"""Environment variables: unknown, replaced, misread, left over from another set-up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from quadgen.findings import Finding
from quadgen.vllm import catalog as catalogs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quadgen.findings import Severity
    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.option import Variable
    from quadgen.vllm.rule import Settings


def environment_findings(settings: Settings, catalog: Catalog) -> Iterator[Finding]:
    """What is wrong with the environment of a service.

    Args:
        settings: What vLLM sees of the service.
        catalog: The release's catalog.
    """
    strict = bool(settings.get("fail-on-environ-validation"))
    for name, value in settings.invocation.env.items():
        variable = catalog.variable(name)
        if variable is not None:
            yield from _known(variable, value)
        elif name.startswith("VLLM_") or catalogs.variable_life(name):
            yield _unknown(name, catalog, "error" if strict and name.startswith("VLLM_") else "warning")
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            message = f"{name} still has the quotes of a shell inside"
            yield _finding("warning", "quotes-in-value", name, message, "take the inner quotes away")
    yield from _habits(settings)


def _finding(severity: Severity, code: str, name: str, message: str, remedy: str = "") -> Finding:
    return Finding(severity=severity, code=code, message=message, remedy=remedy, path=("env", name))


def _unknown(name: str, catalog: Catalog, severity: Severity) -> Finding:
    life = catalogs.variable_life(name)
    if life is None:
        near = _near(name, catalog)
        remedy = f"did you mean {near}?" if near else "take it out: vLLM reads no such variable"
        return _finding(severity, "env-unknown", name, f"vLLM {catalog.release} reads no {name}", remedy)
    later = [r for r in life.releases if catalogs.version(r) > catalogs.version(catalog.release)]
    if later and not [r for r in life.releases if catalogs.version(r) < catalogs.version(catalog.release)]:
        message = f"{name} is new in {later[0]}; this image is {catalog.release}"
        return _finding(severity, "env-too-new", name, message, "take a newer image, or leave it out")
    use = f"use {life.replacement}" if life.replacement else "take it out: it does nothing"
    gone = life.gone or (later[0] if later else "")
    return _finding(severity, "env-removed", name, f"{name} was removed in {gone} and does nothing", use)


def _near(name: str, catalog: Catalog) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only a wrong spec pays for it

    found = get_close_matches(name, catalog.variables, n=1, cutoff=0.8)
    return found[0] if found else ""


def _known(variable: Variable, value: str) -> Iterator[Finding]:
    name = variable.name
    if variable.deprecated:
        use = f"use {variable.replacement}" if variable.replacement else ""
        yield _finding("warning", "env-deprecated", name, f"{name} is deprecated", use)
    if variable.choices and not _is_choice(variable, value):
        choices = ", ".join(variable.choices)
        yield _finding("error", "env-choice", name, f'{name}: "{value}" is none of {choices}')
    kind = variable.type.replace(" | None", "")
    if kind == "bool" and value.strip().lower() not in _YES_NO:
        yield _finding("error", "env-type", name, f'{name}: "{value}" is neither yes nor no', "write 1 or 0")
    elif kind == "bool" and value.strip() not in {"0", "1"}:
        message = f'{name}: many of vLLM\'s switches read a number, and "{value}" is none'
        yield _finding("warning", "env-switch", name, message, "write 1 or 0")
    elif kind in {"int", "float"} and name not in _OWN_WORDS and not _is_number(value, whole=kind == "int"):
        yield _finding("error", "env-type", name, f'{name}: "{value}" is no number')


# A habit says more about it than its type does.
_OWN_WORDS: Final = frozenset({"VLLM_PORT"})
_YES_NO: Final = frozenset({"0", "1", "true", "false", "yes", "no", "on", "off", ""})


def _is_choice(variable: Variable, value: str) -> bool:
    if variable.any_case:
        return value.lower() in {choice.lower() for choice in variable.choices}
    return value in variable.choices


def _is_number(value: str, *, whole: bool) -> bool:
    try:
        int(value) if whole else float(value)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Habit:
    """One variable that is often set for no good reason here.

    Args:
        name: The variable; a name that ends in `*` stands for all that begin so.
        applies: Whether its value is of that kind.
        severity: How bad it is.
        code: Stable kebab-case name.
        message: What is wrong.
        remedy: What to do about it.
    """

    name: str
    applies: Callable[[str, Settings], bool]
    severity: Severity
    code: str
    message: str
    remedy: str = ""


def _is_port(value: str, settings: Settings) -> bool:
    return value.strip() == str(settings.get("port")) or value.strip() == str(settings.invocation.port)


def _single(_value: str, settings: Settings) -> bool:
    several = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "nnodes")
    return all(settings.number(name, 1) <= 1 for name in several)


HABITS: Final = (
    Habit(
        "VLLM_PORT",
        _is_port,
        "error",
        "vllm-port",
        "VLLM_PORT is for vLLM's inner connections; the API's own port there ends in 'address already in"
        " use'",
        "take it out; listen says where the API is",
    ),
    Habit(
        "VLLM_PORT",
        lambda value, _: "://" in value,
        "error",
        "vllm-port",
        "VLLM_PORT must be a number; an address comes from a Kubernetes service of the name vllm",
        "take it out",
    ),
    Habit(
        "VLLM_HOST_IP",
        lambda value, _: value.strip() in {"0.0.0.0", "::"},  # noqa: S104 - that is the mistake
        "error",
        "vllm-host-ip",
        "VLLM_HOST_IP is this node's own address for the other nodes, not an address to listen on",
        "take it out; listen says where the API is",
    ),
    Habit(
        "VLLM_HOST_IP",
        lambda value, s: _single(value, s) and value.strip() not in {"0.0.0.0", "::"},  # noqa: S104
        "note",
        "vllm-host-ip",
        "VLLM_HOST_IP matters only with several nodes",
        "take it out",
    ),
    Habit(
        "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH",
        lambda value, _: value == "1",
        "warning",
        "keep-alive-dead-engine",
        "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH keeps a server without an engine running: nothing would restart it",
        "take it out",
    ),
    Habit(
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING",
        lambda value, s: value.lower() in {"1", "true"} and s.invocation.reachable,
        "warning",
        "lora-updating-reachable",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING lets whoever can connect load weights from any path",
        "listen on 127.0.0.1, or list the adapters in lora",
    ),
    Habit(
        "CUDA_VISIBLE_DEVICES",
        lambda _value, _s: True,
        "warning",
        "visible-devices",
        "CUDA_VISIBLE_DEVICES counts from 0 among the GPUs that the container already got",
        "choose them with gpus, and take it out",
    ),
    Habit(
        "NVIDIA_VISIBLE_DEVICES",
        lambda _value, _s: True,
        "warning",
        "visible-devices",
        "NVIDIA_VISIBLE_DEVICES does nothing with CDI",
        "choose the devices with gpus, and take it out",
    ),
    Habit(
        "TORCHINDUCTOR_CACHE_DIR",
        lambda _value, _s: True,
        "warning",
        "env-overwritten",
        "vLLM overwrites TORCHINDUCTOR_CACHE_DIR itself",
        "set VLLM_CACHE_ROOT to move the caches",
    ),
    Habit(
        "NCCL_P2P_DISABLE",
        lambda value, s: value not in {"", "0"} and not _single(value, s),
        "warning",
        "nccl-leftover",
        "NCCL_P2P_DISABLE makes GPUs talk through main memory, several times slower",
        "take it out, unless the start hangs without it",
    ),
    Habit(
        "NCCL_DEBUG",
        lambda value, _: value.upper() in {"INFO", "TRACE"},
        "note",
        "nccl-leftover",
        "NCCL_DEBUG fills the journal",
        "take it out once the connection works",
    ),
    Habit(
        "NCCL_*",
        _single,
        "note",
        "nccl-leftover",
        "NCCL settings do nothing with a single GPU",
        "take it out",
    ),
    Habit(
        "RAY_*",
        lambda _value, s: (
            "ray" not in {s.get("distributed-executor-backend"), s.get("data-parallel-backend")}
        ),
        "note",
        "ray-leftover",
        "Ray settings do nothing: no backend of the service is ray",
        "take it out",
    ),
)


def _habits(settings: Settings) -> Iterator[Finding]:
    for name, value in settings.invocation.env.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            yield _finding("error", "env-name", name, f'"{name}" is no name of an environment variable')
        for habit in HABITS:
            if _names(habit, name) and habit.applies(value, settings):
                yield _finding(habit.severity, habit.code, name, habit.message, habit.remedy)
                break


def _names(habit: Habit, name: str) -> bool:
    return name.startswith(habit.name[:-1]) if habit.name.endswith("*") else name == habit.name
