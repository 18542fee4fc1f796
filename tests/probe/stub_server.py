"""A stub of a vLLM server over TCP, TLS or a Unix socket, whose behaviour a test changes while it runs."""

from __future__ import annotations

import http.server
import json
import socket
import socketserver
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quadgen.probe.probefile import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass
class Behaviour:
    """What the stub does; every field may be changed while it runs."""

    names: tuple[str, ...] = ("qwen",)
    key: str | None = None
    prefix: str = ""
    health: int = 200
    work: int = 200
    delays: dict[str, float] = field(default_factory=dict)
    dribble: bool = False
    metrics: str = ""
    hang: threading.Event | None = None
    asked: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


class _Handler(http.server.BaseHTTPRequestHandler):
    behaviour: Behaviour

    def do_GET(self) -> None:
        path, behaviour = self._begin()
        if path == "/health":
            self._answer(behaviour.health, b"")
        elif path == "/v1/models" and self._may():
            rows = [{"id": name} for name in behaviour.names]
            self._answer(200, json.dumps({"object": "list", "data": rows}).encode())
        elif path == "/metrics":
            self._answer(200, behaviour.metrics.encode())
        elif path != "/v1/models":
            self._answer(404, b"")

    def do_POST(self) -> None:
        path, behaviour = self._begin()
        behaviour.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        if path in {"/v1/completions", "/v1/embeddings"} and self._may():
            self._answer(behaviour.work, b'{"error":{"message":"no"}}' if behaviour.work != 200 else b"{}")

    def _begin(self) -> tuple[str, Behaviour]:
        behaviour = self.behaviour
        behaviour.asked.append(self.path)
        behaviour.hosts.append(self.headers.get("Host", ""))
        path = self.path.removeprefix(behaviour.prefix) if self.path.startswith(behaviour.prefix) else "/none"
        if behaviour.hang is not None and not path.endswith("/hangs-not"):
            behaviour.hang.wait(30)
        time.sleep(behaviour.delays.get(path, 0))
        return path, behaviour

    def _may(self) -> bool:
        key = self.behaviour.key
        if key is None or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self._answer(401, b'{"error":"Unauthorized"}')
        return False

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) + (100 if self.behaviour.dribble else 0)))
        self.end_headers()
        self.wfile.write(body)
        if self.behaviour.dribble:
            for _ in range(100):
                time.sleep(0.05)
                self.wfile.write(b" ")

    def log_message(self, *_: Any) -> None:
        pass

    def address_string(self) -> str:
        return "stub"


class _Quiet(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    context: ssl.SSLContext | None = None

    def get_request(self) -> tuple[Any, Any]:
        sock, address = self.socket.accept()
        return (self.context.wrap_socket(sock, server_side=True) if self.context else sock), address or "uds"

    def handle_error(self, *_: Any) -> None:
        """Clients that hang up are what the tests are about."""


@contextmanager
def serving(
    behaviour: Behaviour | None = None,
    *,
    address: Any = ("127.0.0.1", 0),
    family: socket.AddressFamily = socket.AF_INET,
    cert: Path | None = None,
) -> Iterator[tuple[Any, Behaviour]]:
    """Serve; gives the address and the behaviour."""
    behaviour = behaviour or Behaviour()
    handler = type("Handler", (_Handler,), {"behaviour": behaviour})
    kind = type("Stub", (_Quiet,), {"address_family": family})
    with kind(address, handler) as server:
        if cert is not None:
            server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            server.context.load_cert_chain(cert)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server.server_address, behaviour
        finally:
            server.shutdown()
            thread.join(10)


@contextmanager
def speaking(answer: Callable[[socket.socket], None]) -> Iterator[Server]:
    """A TCP server that does with each connection whatever a test wants."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        ended = threading.Event()

        def accept() -> None:
            while not ended.is_set():
                try:
                    sock, _ = listener.accept()
                except TimeoutError:
                    continue
                with sock:
                    sock.settimeout(10)
                    with suppress(OSError):
                        answer(sock)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield Server(url=f"http://127.0.0.1:{listener.getsockname()[1]}", names=("qwen",))
        finally:
            ended.set()
            thread.join(10)


def certificate(folder: Path, name: str = "llm.example", address: str = "127.0.0.1") -> Path:
    """A self-signed certificate with its key in one PEM file."""
    pem, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-keyout", str(key), "-out", str(pem), "-days", "2", "-subj", f"/CN={name}"),
            *("-addext", f"subjectAltName=DNS:{name},IP:{address}"),
        ],
        check=True,
        capture_output=True,
    )
    pem.write_text(pem.read_text() + key.read_text())
    return pem


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        return port
