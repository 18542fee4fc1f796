"""Stands for `vllm serve` in a container where vLLM itself adds nothing: loads, serves, and fails on request.

Environment: LOAD seconds of loading; DIE ends the load with vLLM's own words; NAMES served instead of the
asked ones; KEY asked for instead of VLLM_API_KEY. Like vLLM it does not hear SIGTERM while it loads.
"""

from __future__ import annotations

import http.server
import json
import os
import signal
import socket
import ssl
import sys
import time

LAST_WORDS = {
    "memory": (1, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
    "option": (2, "vllm: error: unrecognized arguments: --colour"),
    "crash": (1, "RuntimeError: made to fail"),
}
METRICS = (
    b'vllm:num_requests_running{engine="0"} 0.0\n'
    b'vllm:prompt_tokens_total{engine="0"} 7.0\n'
    b'vllm:generation_tokens_total{engine="0"} 5.0\n'
)


def option(name: str, default: str = "") -> str:
    """The value of an option of the command line."""
    words = sys.argv[1:]
    return words[words.index(name) + 1] if name in words else default


def log(text: str) -> None:
    """A line as vLLM writes it."""
    sys.stdout.write(f"(APIServer pid=1) INFO 01-31 10:00:00 [x.py:1] {text}\n")
    sys.stdout.flush()


def load() -> None:
    """Load, or die at the end of it."""
    seconds = float(os.environ.get("LOAD", "2"))
    sys.stdout.write(f"load begins {time.time():.2f}\n")
    log("Starting to load model m...")
    for percent in range(0, 101, 20):
        time.sleep(seconds / 6)
        sys.stderr.write(
            f"\rLoading safetensors checkpoint shards: {percent:3d}% Completed | {percent // 10}/10\n"
        )
    sys.stderr.flush()
    sys.stdout.write(f"load ends {time.time():.2f}\n")
    if os.environ.get("DIE"):
        status, words = LAST_WORDS[os.environ["DIE"]]
        sys.stderr.write(f"{words}\n")
        sys.exit(status)


class Handler(http.server.BaseHTTPRequestHandler):
    """The endpoints that the probes ask."""

    key = os.environ.get("KEY") or os.environ.get("VLLM_API_KEY")
    names = os.environ.get("NAMES") or option("--served-model-name", "tiny")
    root = option("--root-path")

    def answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def may(self) -> bool:
        return not self.key or self.headers.get("Authorization") == f"Bearer {self.key}"

    def do_GET(self) -> None:
        path = self.path.removeprefix(self.root) if self.path.startswith(self.root) else "/none"
        if path == "/health":
            self.answer(200)
        elif path == "/metrics":
            self.answer(200, METRICS)
        elif path == "/v1/models":
            names = [{"id": name} for name in self.names.split(",")]
            self.answer(200, json.dumps({"data": names}).encode()) if self.may() else self.answer(401)
        else:
            self.answer(404)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.answer(200, b"{}") if self.may() else self.answer(401)

    def address_string(self) -> str:
        return "client"

    def log_message(self, *_: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    """Listens at an address of either family, or on a Unix socket."""

    def server_bind(self) -> None:
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "stub", 0


def serve() -> None:
    """Serve for ever."""
    uds, host = option("--uds"), option("--host", "0.0.0.0")  # noqa: S104
    Server.address_family = socket.AF_UNIX if uds else socket.AF_INET6 if ":" in host else socket.AF_INET
    server = Server(uds or (host, int(option("--port", "8000"))), Handler)  # type: ignore[arg-type]
    certificate = option("--ssl-certfile")
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, option("--ssl-keyfile"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    log("Starting vLLM server on http://0.0.0.0:8000")
    log("Application startup complete.")
    server.serve_forever()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: None)
    load()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    serve()
