"""Limits of numbers: vLLM's parser lets every number through, and the engine refuses it later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadgen.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quadgen.vllm.catalog import Catalog
    from quadgen.vllm.rule import Settings


def bound_findings(settings: Settings, catalog: Catalog) -> Iterator[Finding]:
    """Numbers outside the limits of their option.

    Args:
        settings: What vLLM sees of the service.
        catalog: The release's catalog.
    """
    for name, value in settings.values.items():
        bounds = catalog.options[name].bounds
        if bounds and isinstance(value, (int, float)) and not bounds.allow(value):
            yield Finding(
                severity="error",
                code="value-bounds",
                message=f"{name} is {value}; it must be {bounds}",
                path=("serve", settings.keys[name]),
            )
