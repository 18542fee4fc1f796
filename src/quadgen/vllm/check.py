"""Everything that can be said about a service's vLLM side before anything is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.findings import Finding
from quadgen.vllm import (
    catalog as catalogs,
)
from quadgen.vllm import (
    rules_devices,
    rules_frontend,
    rules_gpu,
    rules_memory,
    rules_other,
    rules_parallel,
    rules_speculative,
)
from quadgen.vllm.argv import catalog_of, read_arguments
from quadgen.vllm.bounds import bound_findings
from quadgen.vllm.environment import environment_findings
from quadgen.vllm.known_values import value_findings
from quadgen.vllm.leftovers import model_findings as name_findings
from quadgen.vllm.leftovers import value_leftovers
from quadgen.vllm.model_config import model_findings
from quadgen.vllm.owned import owned_findings
from quadgen.vllm.rule import Rule, Settings, broken
from quadgen.vllm.secrecy import placeholder_findings, secret_findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.vllm.argv import Arguments, Invocation
    from quadgen.vllm.catalog import Catalog

RULES: tuple[Rule, ...] = (
    *rules_frontend.RULES,
    *rules_parallel.RULES,
    *rules_devices.RULES,
    *rules_gpu.RULES,
    *rules_memory.RULES,
    *rules_speculative.RULES,
    *rules_other.RULES,
)


def check(invocation: Invocation) -> tuple[Finding, ...]:
    """Everything that is wrong, risky or worth knowing; paths are relative to the service.

    Args:
        invocation: What the service asks of vLLM.
    """
    catalog = catalog_of(invocation.release)
    findings = list(name_findings(invocation.model))
    findings += placeholder_findings(invocation.model, invocation.env, invocation.options)
    findings += secret_findings(invocation.options, invocation.env, catalog)
    if catalog is None:
        findings.append(_unchecked(invocation.release))
    else:
        arguments = read_arguments(invocation, catalog)
        findings += arguments.findings
        findings += _about_options(invocation, arguments, catalog)
    return tuple(findings)


def _about_options(invocation: Invocation, arguments: Arguments, catalog: Catalog) -> Iterator[Finding]:
    settings = Settings(invocation, arguments, catalog)
    reported = {finding.path for finding in arguments.findings}
    leftovers = [
        finding for finding in value_leftovers(invocation.options, catalog) if finding.path not in reported
    ]
    yield from leftovers
    yield from owned_findings(settings)
    yield from bound_findings(settings, catalog)
    yield from value_findings(settings, catalog)
    yield from deprecation_findings(settings, catalog)
    yield from broken(RULES, settings)
    yield from model_findings(settings)
    yield from environment_findings(settings, catalog)


def deprecation_findings(settings: Settings, catalog: Catalog) -> Iterator[Finding]:
    """Options that the release will drop.

    Args:
        settings: What vLLM sees of the service.
        catalog: The release's catalog.
    """
    for name, key in settings.keys.items():
        option = catalog.options[name]
        if option.deprecated and name in settings.values:
            remedy = f"use {option.replacement}" if option.replacement else "take it out"
            message = f"{name} is deprecated in {catalog.release}"
            yield Finding(
                severity="warning",
                code="option-deprecated",
                message=message,
                remedy=remedy,
                path=("serve", key),
            )


def _unchecked(release: str) -> Finding:
    near = catalogs.nearest(release)
    return Finding(
        severity="warning",
        code="release-unknown",
        message=f"quadgen has no catalog for vLLM {release}; the closest is {near}",
        remedy="options become words by their TOML type alone: names, values and rules were not checked",
        path=("vllm",),
    )
