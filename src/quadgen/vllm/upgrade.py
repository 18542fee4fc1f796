"""What another vLLM release would break, or change without a word, for a service."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from quadgen.findings import Finding
from quadgen.vllm.argv import catalog_of, read_arguments
from quadgen.vllm.catalog import version
from quadgen.vllm.check import check
from quadgen.vllm.json_values import to_json
from quadgen.vllm.rule import Settings, place
from quadgen.vllm.rules_speculative import active as speculates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quadgen.findings import Severity
    from quadgen.vllm.argv import Invocation
    from quadgen.vllm.catalog import Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that a release does differently from the one before.

    Args:
        since: The release.
        code: Stable kebab-case name.
        about: Options and variables it speaks of.
        applies: Whether a service would notice.
        message: What becomes different.
        remedy: The edit that keeps what was, or follows.
        severity: A warning where something changes in silence, a note where it may not matter.
    """

    since: str
    code: str
    about: tuple[str, ...]
    applies: Callable[[Settings], bool]
    message: str
    remedy: str
    severity: Severity = "warning"


CHANGES: Final = (
    Change(
        since="0.21",
        code="upgrade-sampler",
        about=("VLLM_USE_FLASHINFER_SAMPLER",),
        applies=lambda s: not s.env("VLLM_USE_FLASHINFER_SAMPLER"),
        message="sampling uses FlashInfer's kernels where they are installed",
        remedy='set VLLM_USE_FLASHINFER_SAMPLER = "0" in env to keep the old ones',
        severity="note",
    ),
    Change(
        since="0.21",
        code="upgrade-rejection",
        about=("speculative-config",),
        applies=lambda s: s.part("speculative-config", "rejection_sample_method") == "strict",
        message='rejection_sample_method "strict" is called "standard"',
        remedy='write rejection_sample_method = "standard"',
    ),
    Change(
        since="0.22",
        code="upgrade-guarded-routes",
        about=("api-key", "VLLM_API_KEY"),
        applies=lambda s: s.given("api-key") or bool(s.env("VLLM_API_KEY")),
        message="the key also guards /v2 and /inference",
        remedy="clients of those routes must send it",
        severity="note",
    ),
    Change(
        since="0.23",
        code="upgrade-eplb",
        about=("enable-eplb", "eplb-config"),
        applies=lambda s: bool(s.get("enable-eplb")) and s.part("eplb-config", "use_async") is None,
        message="experts are balanced while requests run (use_async became true)",
        remedy="add eplb-config.use_async = false to keep what was",
    ),
    Change(
        since="0.24",
        code="upgrade-strict-tools",
        about=("tool-call-parser", "VLLM_ENFORCE_STRICT_TOOL_CALLING"),
        applies=lambda s: s.given("tool-call-parser") and not s.env("VLLM_ENFORCE_STRICT_TOOL_CALLING"),
        message="a tool that asks for strict arguments gets them enforced",
        remedy='set VLLM_ENFORCE_STRICT_TOOL_CALLING = "0" in env to keep what was',
    ),
    Change(
        since="0.27",
        code="upgrade-guarded-routes",
        about=("api-key", "VLLM_API_KEY"),
        applies=lambda s: s.given("api-key") or bool(s.env("VLLM_API_KEY")),
        message="the key also guards /cohere",
        remedy="clients of those routes must send it",
        severity="note",
    ),
    Change(
        since="0.29",
        code="upgrade-allreduce",
        about=("tensor-parallel-size",),
        applies=lambda s: (
            s.number("tensor-parallel-size", 1) > 1 and not s.env("VLLM_ALLREDUCE_USE_FLASHINFER")
        ),
        message="tensor-parallel sums use FlashInfer's kernels where they are installed",
        remedy='set VLLM_ALLREDUCE_USE_FLASHINFER = "0" in env to keep the old ones',
        severity="note",
    ),
    Change(
        since="0.30",
        code="upgrade-scale-out",
        about=("enable-scale-out",),
        applies=lambda s: not s.get("enable-scale-out"),
        message="/inference/v1 and the render routes answer 403 unless they are switched on",
        remedy="add enable-scale-out = true if anything uses them",
        severity="note",
    ),
    Change(
        since="0.32",
        code="upgrade-origins",
        about=("allowed-origins",),
        applies=lambda s: "allowed-origins" not in s.values,
        message="web pages of other origins are refused: allowed-origins became []",
        remedy='add allowed-origins = ["*"] to keep what was, or better the origins that may',
    ),
    Change(
        since="0.32",
        code="upgrade-cascade",
        about=("disable-cascade-attn",),
        applies=lambda s: "disable-cascade-attn" in s.values,
        message="disable-cascade-attn does nothing any more",
        remedy="take it out",
    ),
    Change(
        since="0.33",
        code="upgrade-body-size",
        about=("VLLM_HTTP_MAX_REQUEST_BODY_SIZE",),
        applies=lambda s: not s.env("VLLM_HTTP_MAX_REQUEST_BODY_SIZE"),
        message="requests above 32 MiB are refused",
        remedy="set VLLM_HTTP_MAX_REQUEST_BODY_SIZE in env if clients send larger images, audio or video",
        severity="note",
    ),
    Change(
        since="0.33",
        code="upgrade-mamba",
        about=("mamba-cache-mode",),
        applies=lambda s: "mamba-cache-mode" in s.values,
        message="mamba-cache-mode does nothing any more: enable-prefix-caching alone decides",
        remedy="take it out",
    ),
    Change(
        since="0.33",
        code="upgrade-strict-level",
        about=("tool-strict-level", "tool-call-parser"),
        applies=lambda s: s.given("tool-call-parser") and "tool-strict-level" not in s.values,
        message="some tool parsers have a stricter level of their own",
        remedy='add tool-strict-level = "auto" to keep what was',
        severity="note",
    ),
    Change(
        since="0.33",
        code="upgrade-speculation",
        about=("spec-method", "speculative-config"),
        applies=lambda s: (
            speculates(s)
            and {s.get("spec-method"), s.part("speculative-config", "method")} & {"medusa", "mlp_speculator"}
            != set()
        ),
        message="the speculative methods medusa and mlp_speculator are gone",
        remedy="use another drafter, such as eagle3",
    ),
)


def upgrade_findings(invocation: Invocation, to_release: str) -> tuple[Finding, ...]:
    """What changes for a service when its image moves to another release.

    Args:
        invocation: What the service asks of the vLLM it has now.
        to_release: The release to come, such as "0.33".
    """
    old, new = catalog_of(invocation.release), catalog_of(to_release)
    moved = replace(invocation, release=to_release)
    if old is None or new is None:
        return check(moved)
    settings = Settings(invocation, read_arguments(invocation, old), old)
    return (*_new_findings(invocation, moved), *_changes(settings, new), *_defaults(settings, old, new))


def _new_findings(invocation: Invocation, moved: Invocation) -> Iterator[Finding]:
    """What `check` says about the new release and did not say about the old one."""
    before = {_fingerprint(finding, invocation.release) for finding in check(invocation)}
    for finding in check(moved):
        if _fingerprint(finding, moved.release) not in before:
            yield finding


def _fingerprint(finding: Finding, release: str) -> tuple[Any, ...]:
    minor = ".".join(release.removeprefix("v").split(".")[:2])
    return finding.code, finding.path, finding.message.replace(minor, "")


def _changes(settings: Settings, new: Catalog) -> Iterator[Finding]:
    for change in CHANGES:
        if version(settings.release) < version(change.since) <= version(new.release) and change.applies(
            settings
        ):
            yield Finding(
                severity=change.severity,
                code=change.code,
                message=f"from {change.since} on {change.message}",
                remedy=change.remedy,
                path=_place(change.about, settings),
            )


def _place(about: tuple[str, ...], settings: Settings) -> tuple[str, ...]:
    given = tuple(name for name in about if name in settings.keys or name in settings.invocation.env)
    return place(given, settings.keys)


# Changes of a default that a row of `CHANGES` explains.
_TOLD: Final = frozenset({change.about[0] for change in CHANGES})


def _defaults(settings: Settings, old: Catalog, new: Catalog) -> Iterator[Finding]:
    """Defaults that the service relies on and that become another value."""
    for name, option in old.options.items():
        if name in settings.values or name in _TOLD or name not in new.options:
            continue
        before, after = option.default, new.options[name].default
        if before is not None and after is not None and before != after and not isinstance(before, dict):
            yield Finding(
                severity="warning",
                code="upgrade-default",
                message=f"the default of {name} becomes {to_json(after)}; it was {to_json(before)}",
                remedy=f"add {name} = {to_json(before)} to keep what was",
                path=("serve",),
            )
