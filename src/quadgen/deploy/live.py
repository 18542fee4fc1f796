"""What the user manager says of units at this moment, all of them in one call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from quadgen.host.run import Runner

# RestartUSecNext came with systemd 254; an older one leaves it out and waits RestartUSec each time.
_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "StatusText",
    "Result",
    "NRestarts",
    "InvocationID",
    "Job",
    "SourcePath",
    "FragmentPath",
    "NeedDaemonReload",
    "InactiveExitTimestamp",
    "ActiveEnterTimestamp",
    "StateChangeTimestamp",
    "RestartUSec",
    "RestartUSecNext",
    "StartLimitBurst",
    "StartLimitIntervalUSec",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveUnit:
    """One unit; times are seconds since 1970, None for never.

    Args:
        name: The unit.
        load: `loaded`, `not-found`, `masked`, `bad-setting`, `error`.
        active: ActiveState.
        sub: SubState.
        status: What it said of itself last.
        result: Why it ended: `success`, `exit-code`, `start-limit-hit`, …
        restarts: Automatic restarts since somebody started it.
        invocation: Its present run, or the last.
        job: Whether systemd has something to do for it.
        source: The Quadlet file that it was made from.
        fragment: The unit file that systemd read.
        stale: Its files changed after systemd read them.
        began: When this start began.
        started: When it became active.
        changed: When SubState last changed.
        delay: How long systemd waits before the next automatic start, as it writes it: `10s`.
        burst: How many starts the limit allows.
        window: In what time, as systemd writes it.
    """

    name: str
    load: str = "not-found"
    active: str = "inactive"
    sub: str = "dead"
    status: str = ""
    result: str = "success"
    restarts: int = 0
    invocation: str = ""
    job: bool = False
    source: Path | None = None
    fragment: Path | None = None
    stale: bool = False
    began: float | None = None
    started: float | None = None
    changed: float | None = None
    delay: str = ""
    burst: int = 0
    window: str = ""

    @property
    def running(self) -> bool:
        """Whether it has, or will soon have, a process."""
        return self.active not in {"inactive", "failed"}

    @property
    def pausing(self) -> bool:
        """Whether systemd waits before it starts it again."""
        return self.sub.startswith("auto-restart")


def live_units(runner: Runner, names: Iterable[str]) -> dict[str, LiveUnit]:
    """Ask for some units.

    Args:
        runner: Starts `systemctl`.
        names: The units; templates have no state of their own and are left out.

    Raises:
        HostError: The user manager cannot be reached.
    """
    wanted = [name for name in names if not name.partition("@")[2].startswith(".")]
    if not wanted:
        return {}
    # `--timestamp=unix` came with systemd 251, before any release that Quadlet's distributions have.
    argv = ["systemctl", "--user", "show", "--timestamp=unix", f"--property={','.join(_PROPERTIES)}"]
    done = runner.run([*argv, "--", *wanted]).check("log in as the user whose services these are")
    blocks = done.stdout.strip("\n").split("\n\n")
    return {name: _unit(name, block) for name, block in zip(wanted, blocks, strict=False)}


def _unit(name: str, block: str) -> LiveUnit:
    fields = dict(line.partition("=")[::2] for line in block.splitlines())
    source, fragment = _path(fields, "SourcePath"), _path(fields, "FragmentPath")
    return LiveUnit(
        name=name,
        load=fields.get("LoadState", "not-found"),
        active=fields.get("ActiveState", "inactive"),
        sub=fields.get("SubState", "dead"),
        status=fields.get("StatusText", ""),
        result=fields.get("Result", "success"),
        restarts=_whole(fields, "NRestarts"),
        invocation=fields.get("InvocationID", ""),
        job=_whole(fields, "Job") != 0,
        source=source,
        fragment=fragment,
        stale=fields.get("NeedDaemonReload") == "yes" or _is_newer(source, fragment),
        began=_time(fields, "InactiveExitTimestamp"),
        started=_time(fields, "ActiveEnterTimestamp"),
        changed=_time(fields, "StateChangeTimestamp"),
        delay=fields.get("RestartUSecNext") or fields.get("RestartUSec", ""),
        burst=_whole(fields, "StartLimitBurst"),
        window=fields.get("StartLimitIntervalUSec", ""),
    )


def _is_newer(source: Path | None, fragment: Path | None) -> bool:
    """Whether a Quadlet file was written after its unit was made: systemd 262 no longer looks at that."""
    if source is None or fragment is None:
        return False
    try:
        return source.stat().st_mtime_ns > fragment.stat().st_mtime_ns
    except OSError:
        return False


def _path(fields: Mapping[str, str], key: str) -> Path | None:
    text = fields.get(key)
    return Path(text) if text else None


def _whole(fields: Mapping[str, str], key: str) -> int:
    text = fields.get(key, "")
    return int(text) if text.isdecimal() else 0


def _time(fields: Mapping[str, str], key: str) -> float | None:
    text = fields.get(key, "").removeprefix("@")
    return float(text) if text.isdecimal() and text != "0" else None
