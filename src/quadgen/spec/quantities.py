"""Numbers with meaning: durations, sizes, ports, limits."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, NamedTuple

from quadgen.spec import schema
from quadgen.spec.refusal import refuse, shown

# The units of systemd.time(7) that a server's budgets are made of.
_SECONDS = {
    "s": 1, "sec": 1, "second": 1, "seconds": 1,
    "m": 60, "min": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hr": 3600, "hour": 3600, "hours": 3600,
    "d": 86400, "day": 86400, "days": 86400,
}  # fmt: skip
_SPAN_PATTERN = r"\s*(\d+)\s*([a-z]*)"
_SIZE_PATTERN = r"(?i)(\d+)\s*([bkmgt]?)(?:i?b)?"
_LAST_PORT = 65535
_LONGEST = 366 * 86400


def _duration(value: Any) -> int:
    seconds = _span(value)
    if seconds is None:
        refuse(
            "bad-duration",
            f"{shown(value)} is no duration",
            'write seconds, or text like "90s" or "1h 30min"',
        )
    if not 0 < seconds <= _LONGEST:
        refuse(
            "bad-duration", f"{shown(value)} is out of range", "write at least one second and at most a year"
        )
    return seconds


def _span(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    total, end = 0, 0
    for match in re.finditer(_SPAN_PATTERN, value):
        number, unit = match.groups()
        if match.start() != end or (unit or "s") not in _SECONDS:
            return None
        total, end = total + int(number) * _SECONDS[unit or "s"], match.end()
    return total if end and not value[end:].strip() else None


def _size(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return f"{value}b"
    match = re.fullmatch(_SIZE_PATTERN, value.strip()) if isinstance(value, str) else None
    if match is None or int(match[1]) == 0:
        refuse("bad-size", f"{shown(value)} is no size", 'write bytes, or text like "512m" or "16g"')
    return f"{int(match[1])}{match[2].lower() or 'b'}"


def _pids(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < -1:
        refuse("bad-pids", f"{shown(value)} is no limit of processes", "write a number, or -1 for no limit")
    return value


class Listen(NamedTuple):
    """Where the host offers the server.

    Args:
        address: An IP address of the host; `::1` without brackets.
        port: The port, or None for one that Podman picks.
    """

    address: str
    port: int | None

    def __str__(self) -> str:
        return f"{self._bracketed}:{self.port or 0}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.address}]" if ":" in self.address else self.address

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(self.address).is_loopback

    def publish(self, container_port: int) -> str:
        """The value of PublishPort for it."""
        return f"{self._bracketed}:{self.port or ''}:{container_port}"

    def overlaps(self, other: Listen) -> bool:
        """Whether both can't be bound at once."""
        return (
            self.port is not None
            and self.port == other.port
            and (
                self.address == other.address or "0.0.0.0" in self._pair(other) or "::" in self._pair(other)  # noqa: S104
            )
        )

    def _pair(self, other: Listen) -> tuple[str, str]:
        return self.address, other.address


def _listen(value: Any) -> Listen:
    address, _, port = str(value).rpartition(":") if isinstance(value, (str, int)) else ("", "", "")
    if isinstance(value, bool) or not (port.isascii() and port.isdigit()) or int(port) > _LAST_PORT:
        refuse(
            "bad-listen",
            f"{shown(value)} is no address with a port",
            'write it like "127.0.0.1:8000" or "[::1]:8000"; port 0 lets Podman pick one',
        )
    return Listen(_address(value, address or "127.0.0.1"), int(port) or None)


def _address(value: Any, text: str) -> str:
    name = "127.0.0.1" if text == "localhost" else text
    if name.startswith("[") != (":" in name):
        name = "bad"
    try:
        return str(ipaddress.ip_address(name.removeprefix("[").removesuffix("]")))
    except ValueError:
        refuse(
            "bad-listen",
            f"{shown(value)}: {text!r} is no IP address of this machine",
            "write 127.0.0.1 for this machine alone, an address of a network card, or [::1]",
        )


SECONDS = schema.anything(_duration, "integer", "string")
SIZE = schema.anything(_size, "integer", "string")
PIDS = schema.anything(_pids, "integer")
LISTEN = schema.anything(_listen, "integer", "string")
