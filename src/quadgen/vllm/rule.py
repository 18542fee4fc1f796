"""Rules between options: what a row is, and how rows are put to a service."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from quadgen.findings import Finding
from quadgen.vllm.catalog import version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from quadgen.findings import Severity
    from quadgen.vllm.argv import Arguments, Invocation
    from quadgen.vllm.catalog import Catalog

# How a broken rule shows itself: in the parser, just after it, while the engine is configured, once the
# engine runs, or not at all: vLLM goes on and does something else than was meant.
Stage: TypeAlias = Literal["parse", "validate", "configure", "start", "silent"]


class Settings:
    """What vLLM sees of a service: the options that were given, and its own defaults for the rest.

    Args:
        invocation: What the service asks of vLLM.
        arguments: Its options, read.
        catalog: The release's catalog.
    """

    def __init__(self, invocation: Invocation, arguments: Arguments, catalog: Catalog) -> None:
        self.invocation = invocation
        self.values = arguments.values
        self.keys = arguments.keys
        self.release = catalog.release
        self._options = catalog.options

    def given(self, *names: str) -> bool:
        """Whether any of these options was given a value that vLLM does not read as "not given"."""
        return any(self.values.get(name) is not None for name in names)

    def get(self, name: str) -> Any:
        """The option's value, or vLLM's default; None where the release has no such option."""
        value = self.values.get(name)
        if value is None and name not in self.values:
            return self._options[name].default if name in self._options else None
        return value

    def number(self, name: str, fallback: int = 0) -> int:
        """A number, or the fallback where neither the service nor vLLM's defaults have one."""
        value = self.get(name)
        return value if isinstance(value, int) else fallback

    def part(self, name: str, key: str) -> Any:
        """One key of a JSON option that was given; None for none."""
        value = self.values.get(name)
        return value.get(key) if isinstance(value, dict) else None

    def env(self, name: str) -> str:
        """An environment variable; empty where it is not set."""
        return self.invocation.env.get(name, "")

    def switched_on(self, name: str) -> bool:
        """Whether an environment variable says yes."""
        return self.env(name).lower() in {"1", "true", "yes", "on"}

    def __getitem__(self, name: str) -> Any:
        """For the messages of rules: the value as it would be written."""
        value = self.get(name)
        return str(value).lower() if isinstance(value, bool) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    Args:
        fact: Its number in the collected facts, or the seed it comes from.
        code: Stable kebab-case name.
        about: The options it speaks of; the first one that was given is the place of the finding. Empty for
            a rule about the service as a whole.
        broken: Whether a service breaks it.
        message: What is wrong; `{name}` stands for the value of an option.
        remedy: What to do about it.
        reason: Why vLLM or the service minds.
        stage: How vLLM shows it.
        severity: An error where vLLM refuses, a warning where it goes on.
        since: First release with the rule.
        until: First release without it.
    """

    fact: str
    code: str
    about: tuple[str, ...]
    broken: Callable[[Settings], bool]
    message: str
    remedy: str = ""
    reason: str = ""
    stage: Stage = "configure"
    severity: Severity = "error"
    since: str = ""
    until: str = ""

    def holds_in(self, release: str) -> bool:
        """Whether the release has the rule.

        Args:
            release: Such as "0.32".
        """
        number = version(release)
        return (not self.since or version(self.since) <= number) and (
            not self.until or number < version(self.until)
        )

    def finding(self, settings: Settings) -> Finding:
        """What to tell the user."""
        return Finding(
            severity=self.severity,
            code=self.code,
            message=self.message.format_map(_Shown(settings)),
            remedy=self.remedy.format_map(_Shown(settings)),
            path=place(self.about, settings.keys),
        )


class _Shown(dict[str, Any]):
    """Values of options by name, for `str.format_map`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings

    def __missing__(self, name: str) -> Any:
        return self._settings[name]


def place(names: Iterable[str], keys: Mapping[str, str]) -> tuple[str, ...]:
    """The key of the first of these options that was given; the whole table for none.

    Args:
        names: Options, and environment variables in upper case.
        keys: The key that set each option.
    """
    for name in names:
        if name in keys:
            return ("serve", keys[name])
        if name.isupper():
            return ("env", name)
    return ("serve",)


@cache
def broken(rules: Iterable[Rule], settings: Settings) -> Iterator[Finding]:
    """The findings of every rule that a service breaks.

    Args:
        rules: The rows.
        settings: What vLLM sees of the service.
    """
    given = settings.values.keys() | set(settings.invocation.env)
    for rule in rules:
        touched = not rule.about or not given.isdisjoint(rule.about)
        if touched and rule.holds_in(settings.release) and rule.broken(settings):
            yield rule.finding(settings)
