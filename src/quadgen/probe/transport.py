"""HTTP over TCP, TLS or a Unix socket, with one deadline for the whole exchange.

A timeout on a socket limits one read, and a server that sends a byte a second never meets it. So the
connection's socket is wrapped: each call gets only what is left. Proxy variables are never read, because
`http.client` knows none.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from quadgen.probe.client import Answer, Kind, kind_of_status

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from quadgen.probe.probefile import Server

# Metrics of a server with many labels reach a few hundred kilobytes.
_MOST_BYTES = 8 << 20


class HttpClient:
    """The client that really connects.

    Args:
        server: Where to connect to.
    """

    def __init__(self, server: Server) -> None:
        parts = urlsplit(server.url)
        self._server = server
        self._tls = parts.scheme == "https"
        self._host = parts.hostname or "localhost"
        self._port = parts.port or (443 if self._tls else 80)
        self._host_header = server.host_header or parts.netloc
        self._context: ssl.SSLContext | None = None

    def ask(
        self, method: str, path: str, *, deadline: float, body: bytes | None = None, key: str | None = None
    ) -> Answer:
        """Send one request; see `Client.ask`."""
        started = time.monotonic()
        try:
            status, data = self._exchange(method, path, started + deadline, body, key)
        except (OSError, http.client.HTTPException, ValueError) as error:
            kind, detail = _kind_of_error(error)
            return Answer(kind=kind, detail=detail, seconds=time.monotonic() - started)
        return Answer(
            kind=kind_of_status(status), status=status, body=data, seconds=time.monotonic() - started
        )

    def _exchange(
        self, method: str, path: str, until: float, body: bytes | None, key: str | None
    ) -> tuple[int, bytes]:
        sock = self._connect(until)
        connection = http.client.HTTPConnection(self._host, self._port)
        connection.sock = _DeadlineSocket(sock, until)
        try:
            connection.request(method, path, body, self._headers(body, key))
            response = connection.getresponse()
            data = response.read(_MOST_BYTES)
            if response.length and len(data) < _MOST_BYTES:
                # read() with a limit takes a body that ends early for whole.
                raise http.client.IncompleteRead(data, response.length)
            return response.status, data
        finally:
            sock.close()

    def _headers(self, body: bytes | None, key: str | None) -> dict[str, str]:
        headers = {
            "Host": self._host_header,
            "Accept": "*/*",
            "Connection": "close",
            "User-Agent": "quadgen-probe",
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        return headers

    def _connect(self, until: float) -> socket.socket:
        sock = self._connect_plainly(until)
        if not self._tls:
            return sock
        try:
            sock.settimeout(_left(until))
            return self._tls_context().wrap_socket(sock, server_hostname=self._tls_name())
        except BaseException:
            sock.close()
            raise

    def _connect_plainly(self, until: float) -> socket.socket:
        if self._server.uds is not None:
            return _connected(socket.AF_UNIX, self._server.uds, until)
        last: OSError = OSError(f"{self._host} has no address")
        # localhost is often ::1 first, and Podman publishes on 127.0.0.1.
        for family, *_, address in socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM):
            try:
                return _connected(family, address, until)
            except OSError as error:
                last = error
        raise last

    def _tls_name(self) -> str:
        return urlsplit(f"//{self._host_header}").hostname or self._host

    def _tls_context(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context(cafile=self._server.tls_ca)
            # From 3.13 on Python demands extensions that the authorities people make for themselves lack.
            self._context.verify_flags &= ~ssl.VERIFY_X509_STRICT
            if self._server.tls_insecure:
                self._context.check_hostname = False
                self._context.verify_mode = ssl.CERT_NONE
        return self._context


class _DeadlineSocket:
    """As much of a socket as `http.client` uses, each call limited to what is left of the whole."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock = sock
        self._until = until

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(_left(self._until))
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_DeadlineReader(self._sock, self._until))

    def close(self) -> None:
        """Keep the socket open: http.client lets go of it before the body is read."""


class _DeadlineReader(io.RawIOBase):
    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock = sock
        self._until = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._sock.settimeout(_left(self._until))
        return self._sock.recv_into(buffer)


def _connected(family: int, address: Any, until: float) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(_left(until))
        sock.connect(address)
    except BaseException:
        sock.close()
        raise
    return sock


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


# Most special first: the first row whose type fits names the kind.
_ERRORS: tuple[tuple[type[BaseException], Kind], ...] = (
    (TimeoutError, "timeout"),
    (ssl.SSLEOFError, "reset"),
    (ssl.SSLError, "tls"),
    (ConnectionRefusedError, "refused"),
    # RemoteDisconnected, a connection closed before the first byte, is one of these.
    (ConnectionError, "reset"),
    (http.client.IncompleteRead, "reset"),
    (http.client.HTTPException, "not-http"),
    (FileNotFoundError, "no-socket"),
    (OSError, "unreachable"),
    # A header that no HTTP server sends, such as a length that is no number.
    (ValueError, "not-http"),
)


def _kind_of_error(error: BaseException) -> tuple[Kind, str]:
    detail = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or str(error)
    kind = next(kind for cls, kind in _ERRORS if isinstance(error, cls))
    return kind, str(detail).strip()[:200]
