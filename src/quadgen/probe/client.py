"""What an HTTP client of the probe can say: an answer is data, whatever went wrong.

A gate sees refused connections, resets and silence for minutes as a matter of course, so none of them is an
exception.
"""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

Kind: TypeAlias = Literal[
    "ok",  # any 2xx
    "unauthorized",  # 401 and 403
    "not-found",  # 404
    "unavailable",  # 503: vLLM's word for a dead engine
    "status",  # any other status
    "refused",  # nobody listens
    "reset",  # accepted, then closed without an answer: Podman's port forwarder before the server listens
    "timeout",
    "not-http",  # something answered, in another language
    "tls",  # no handshake, or a certificate that is not trusted
    "no-socket",  # the Unix socket does not exist
    "unreachable",  # no route, no such host
]

# Kinds in which a server spoke HTTP.
ANSWERED: frozenset[Kind] = frozenset({"ok", "unauthorized", "not-found", "unavailable", "status"})


class Answer(NamedTuple):
    """The end of one exchange.

    Args:
        kind: How it ended.
        status: HTTP status, 0 where there was none.
        body: As much of the body as the client takes.
        detail: What went wrong, in the words of the library that noticed.
        seconds: How long it took.
    """

    kind: Kind
    status: int = 0
    body: bytes = b""
    detail: str = ""
    seconds: float = 0.0

    def json(self) -> Any:
        """The body as JSON, or None where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def words(self) -> str:
        """The answer in a few words, for a line in the journal."""
        if self.status:
            return f"HTTP {self.status}"
        return f"{_WORDS[self.kind]} ({self.detail})" if self.detail else _WORDS[self.kind]


_WORDS: dict[str, str] = {
    "refused": "connection refused",
    "reset": "connection closed without an answer",
    "timeout": "no answer in time",
    "not-http": "an answer that is not HTTP",
    "tls": "no TLS connection",
    "no-socket": "no such socket",
    "unreachable": "address cannot be reached",
}


def kind_of_status(status: int) -> Kind:
    """Which kind of answer an HTTP status is."""
    if 200 <= status < 300:
        return "ok"
    named: dict[int, Kind] = {401: "unauthorized", 403: "unauthorized", 404: "not-found", 503: "unavailable"}
    return named.get(status, "status")


class Client(Protocol):
    """Asks one server one thing at a time."""

    def ask(
        self, method: str, path: str, *, deadline: float, body: bytes | None = None, key: str | None = None
    ) -> Answer:
        """Send one request.

        Args:
            method: GET or POST; vLLM answers HEAD with 405.
            path: Path below the server's address, with its leading slash.
            deadline: Seconds for all of it, from connecting to the body's last byte.
            body: JSON to send.
            key: Bearer key to send.
        """
        ...
