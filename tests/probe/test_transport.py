from __future__ import annotations

import socket
import struct
import threading
import time
from typing import TYPE_CHECKING

import pytest
from stub_server import Behaviour, certificate, free_port, serving, speaking

from quadgen.probe.probefile import Server
from quadgen.probe.transport import HttpClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from quadgen.probe.client import Answer


def get(server: Server, path: str = "/health", deadline: float = 20, key: str | None = None) -> Answer:
    return HttpClient(server).ask("GET", path, deadline=deadline, key=key)


@pytest.mark.parametrize(
    ("path", "kind", "status"),
    [("/health", "ok", 200), ("/none", "not-found", 404), ("/v1/models", "unauthorized", 401)],
)
def test_a_status_is_a_kind_of_answer(path: str, kind: str, status: int) -> None:
    with serving(Behaviour(key="k")) as ((_, port), _):
        answer = get(Server(url=f"http://127.0.0.1:{port}"), path)
    assert (answer.kind, answer.status) == (kind, status)


def test_a_dead_engine_is_unavailable() -> None:
    with serving(Behaviour(health=503)) as ((_, port), _):
        assert get(Server(url=f"http://127.0.0.1:{port}")).kind == "unavailable"


def test_the_key_is_sent_as_bearer() -> None:
    with serving(Behaviour(key="s e c")) as ((_, port), _):
        answer = get(Server(url=f"http://127.0.0.1:{port}"), "/v1/models", key="s e c")
    assert answer.kind == "ok"
    assert answer.json()["data"] == [{"id": "qwen"}]


def test_a_body_is_posted() -> None:
    with serving() as ((_, port), behaviour):
        client = HttpClient(Server(url=f"http://127.0.0.1:{port}"))
        assert client.ask("POST", "/v1/completions", deadline=20, body=b'{"a":1}').kind == "ok"
    assert behaviour.bodies == [b'{"a":1}']


def test_proxy_variables_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving() as ((_, port), _):
        assert get(Server(url=f"http://127.0.0.1:{port}")).kind == "ok"


def test_nobody_listens() -> None:
    assert get(Server(url=f"http://127.0.0.1:{free_port()}")).kind == "refused"


def test_no_such_host() -> None:
    assert get(Server(url="http://host.invalid:8000")).kind == "unreachable"


def test_localhost_is_tried_on_all_its_addresses() -> None:
    with serving() as ((_, port), _):
        assert get(Server(url=f"http://localhost:{port}")).kind == "ok"


def test_ipv6() -> None:
    try:
        with serving(address=("::1", 0), family=socket.AF_INET6) as (address, behaviour):
            assert get(Server(url=f"http://[::1]:{address[1]}")).kind == "ok"
    except OSError as error:  # pragma: no cover - a machine without IPv6
        pytest.fail(f"this machine has no ::1: {error}")
    assert behaviour.hosts == [f"[::1]:{address[1]}"]


def test_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "vllm.sock")
    with serving(address=path, family=socket.AF_UNIX) as (_, behaviour):
        assert get(Server(url="http://localhost", uds=path)).kind == "ok"
    assert behaviour.hosts == ["localhost"]
    assert get(Server(url="http://localhost", uds=path)).kind == "refused", "the file outlives its server"
    assert get(Server(url="http://localhost", uds=path + "x")).kind == "no-socket"


@pytest.fixture(scope="module")
def cert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("cert"))


def test_tls_with_its_own_authority(cert: Path) -> None:
    with serving(cert=cert) as ((_, port), _):
        url = f"https://127.0.0.1:{port}"
        assert get(Server(url=url, tls_ca=str(cert))).kind == "ok"
        assert get(Server(url=url, tls_insecure=True)).kind == "ok"
        stranger = get(Server(url=url))
        assert stranger.kind == "tls"
        assert "self" in stranger.detail
        other = get(Server(url=url, tls_ca=str(cert), host_header="other.example"))
        assert other.kind == "tls"
        assert "other.example" in other.detail


def test_the_host_header_is_the_certificates_name(cert: Path) -> None:
    with serving(cert=cert) as ((_, port), behaviour):
        server = Server(url=f"https://127.0.0.1:{port}", tls_ca=str(cert), host_header="llm.example")
        assert get(server).kind == "ok"
    assert behaviour.hosts == ["llm.example"]


def test_tls_to_a_plain_server_is_no_tls() -> None:
    with serving() as ((_, port), _):
        assert get(Server(url=f"https://127.0.0.1:{port}", tls_insecure=True)).kind == "tls"


def test_an_authority_that_is_not_there_is_told() -> None:
    with serving() as ((_, port), _):
        answer = get(Server(url=f"https://127.0.0.1:{port}", tls_ca="/nowhere/ca.pem"))
    assert answer.kind in {"no-socket", "tls"}


def reset(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def nothing(_sock: socket.socket) -> None:
    pass


def half(sock: socket.socket) -> None:
    sock.recv(1000)
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")


def ssh(sock: socket.socket) -> None:
    sock.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    sock.recv(1000)


def nonsense(sock: socket.socket) -> None:
    sock.recv(1000)
    sock.sendall(b"HTTP/1.1 abc\r\n\r\n")


def endless_header(sock: socket.socket) -> None:
    sock.recv(1000)
    sock.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (reset, "reset"),
        (nothing, "reset"),
        (half, "reset"),
        (ssh, "not-http"),
        (nonsense, "not-http"),
        (endless_header, "not-http"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_what_is_no_answer_is_told_apart(answer: Callable[[socket.socket], None], kind: str) -> None:
    with speaking(answer) as server:
        assert get(server).kind == kind


def test_a_silent_server_is_left_at_the_deadline() -> None:
    with serving(Behaviour(hang=threading.Event())) as ((_, port), behaviour):
        assert get(Server(url=f"http://127.0.0.1:{port}"), deadline=0.2).kind == "timeout"
        assert behaviour.hang is not None
        behaviour.hang.set()


def test_one_deadline_holds_for_a_server_that_sends_a_byte_at_a_time() -> None:
    with serving(Behaviour(dribble=True)) as ((_, port), _):
        began = time.monotonic()
        answer = get(Server(url=f"http://127.0.0.1:{port}"), deadline=0.3)
    assert answer.kind == "timeout"
    assert time.monotonic() - began < 4, "the whole body takes 5 s"
