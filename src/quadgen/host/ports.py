"""Whether an address can be listened on, and who has it if not."""

from __future__ import annotations

import errno
import ipaddress
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LISTEN = "0A"  # the kernel's number of that state: include/net/tcp_states.h


def listen_error(address: str, port: int) -> int | None:
    """The error number that listening would meet; None where it would work.

    Args:
        address: An IPv4 or IPv6 address; empty for all.
        port: 0, a random one, always works.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # Connections of a server that has ended are no obstacle to Podman either.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except OSError as error:
        return error.errno or errno.EIO
    return None


def is_address(text: str) -> bool:
    """Whether it is an IP address, rather than a name."""
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


def listener(port: int) -> str:
    """Who listens on a port, such as `process 4711 (python3)`; other users' processes have no name here."""
    inodes = set(_listening_inodes(port))
    for process in Path("/proc").glob("[0-9]*"):
        if inodes.intersection(_socket_inodes(process)):
            return f"process {process.name} ({_command(process)})"
    return "a process of another user" if inodes else "another process"


def _listening_inodes(port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _socket_inodes(process: Path) -> Iterator[str]:
    try:
        for link in (process / "fd").iterdir():
            if found := re.match(r"socket:\[(\d+)\]", str(link.readlink())):
                yield found[1]
    except OSError:  # another user's, or just ended
        return


def _command(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "ended"
