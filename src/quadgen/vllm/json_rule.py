"""What a rule between the keys of one JSON option is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from quadgen.vllm.catalog import version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The object with vLLM's defaults filled in, and only the keys that were given.
Test: TypeAlias = "Callable[[Mapping[str, Any], Mapping[str, Any]], bool]"


@dataclass(frozen=True, slots=True)
class JsonRule:
    """One rule of a JSON class.

    Args:
        owner: The class.
        code: Stable kebab-case name.
        broken: Whether an object breaks it.
        message: What is wrong.
        remedy: What to do about it.
        since: First release that enforces it.
        until: First release that no longer does.
    """

    owner: str
    code: str
    broken: Test
    message: str
    remedy: str = ""
    since: str = "0.20"
    until: str = ""

    def holds_in(self, release: str) -> bool:
        """Whether the release has the rule.

        Args:
            release: Such as "0.32".
        """
        number = version(release)
        return version(self.since) <= number and (not self.until or number < version(self.until))
