"""One service on a host, as its tests see it: systemd's words about it, its processes, requests, load."""

from __future__ import annotations

import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from .command import TestHostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .machine import Host

_STATE = ".local/state/quadgen/probe"


@dataclass(frozen=True)
class Started:
    """What came of `systemctl start` or `restart`: its status, its seconds, and what it said."""

    status: int
    seconds: float
    said: str


@dataclass(frozen=True)
class Served:
    """A service on a booted host.

    Args:
        host: The host.
        name: The service's name.
        port: Its port, which is reachable from outside of the host, too.
    """

    host: Host
    name: str
    port: int

    # What systemd says.

    def show(self, *properties: str, unit: str = "") -> dict[str, str]:
        """Properties of its unit, or of another."""
        unit = unit or f"{self.name}.service"
        argv = ["systemctl", "--user", "show", f"--property={','.join(properties)}", unit]
        return dict(line.partition("=")[::2] for line in self.host.run(argv, timeout=60).stdout.splitlines())

    def active(self) -> str:
        """Its state and the finer one, such as `active/running`."""
        told = self.show("ActiveState", "SubState")
        return f"{told.get('ActiveState')}/{told.get('SubState')}"

    def invocation(self) -> str:
        """Which run of it this is."""
        return self.show("InvocationID").get("InvocationID", "")

    def control(self, verb: str, timeout: float = 600) -> Started:
        """Start, stop or restart it, and wait for systemctl."""
        begun = time.monotonic()
        done = self.host.run(["systemctl", "--user", verb, self.name], timeout=timeout)
        return Started(done.returncode, time.monotonic() - begun, done.stderr.strip())

    def fresh_start(self, timeout: float = 600) -> Started:
        """Start it with all attempts before it."""
        self.host.run(["systemctl", "--user", "reset-failed", self.name])
        return self.control("start", timeout)

    def journal(self, lines: int = 200, unit: str = "") -> str:
        """Its last lines in the journal."""
        argv = ["journalctl", "--user", f"--unit={unit or self.name}", "--no-pager", f"--lines={lines}"]
        return self.host.run([*argv, "--output=cat"], timeout=60).stdout

    # What gate and watch wrote down.

    def starts(self) -> list[dict[str, Any]]:
        """The records of its starts, oldest first."""
        rows: list[dict[str, Any]] = self._state("start.json").get("starts", [])
        return rows

    def reason(self) -> dict[str, Any]:
        """Why the last start or run of it ended."""
        starts = self.starts()
        reason: dict[str, Any] = (starts[-1].get("reason") if starts else None) or {}
        return reason

    def watched(self) -> dict[str, Any]:
        """What the watch wrote last."""
        return self._state("watch.json")

    def _state(self, file: str) -> dict[str, Any]:
        text = self.host.run(["cat", f"{_STATE}/{self.name}/{file}"]).stdout
        table: dict[str, Any] = json.loads(text) if text else {}
        return table

    # Waiting.

    def wait(self, what: str, wanted: Callable[[], bool], seconds: float) -> float:
        """Wait until something holds; the answer is how long that took, in seconds.

        Raises:
            TestHostError: it does not come to hold.
        """
        begun = time.monotonic()
        while not wanted():
            if time.monotonic() - begun > seconds:
                raise TestHostError(
                    f"{self.name}: not {what} within {seconds:g} s; {self.active()}\n{self.journal(30)}"
                )
            time.sleep(0.2)
        return time.monotonic() - begun

    def wait_serving(self, after: str = "", seconds: float = 420) -> float:
        """Wait until it serves, in another run than `after`; the answer is how long that took."""
        return self.wait(
            "serving", lambda: self.active() == "active/running" and self.invocation() != after, seconds
        )

    def wait_ended(self, run: str, seconds: float) -> float:
        """Wait until a run of it is over; the answer is how long that took."""
        return self.wait(
            "ended", lambda: self.invocation() != run or not self.active().startswith("active"), seconds
        )

    # Its processes.

    def pid(self, which: str) -> int:
        """A process, as the host numbers it: `engine`, `api` (the container's first), `watch` or `main`."""
        if which == "watch":
            return int(self.show("MainPID", unit=self.watch)["MainPID"])
        if which == "main":
            return int(self.show("MainPID")["MainPID"])
        if which == "api":
            argv = ["podman", "container", "inspect", "--format", "{{.State.Pid}}", self.name]
            return int(self.host.run(argv, timeout=60).stdout)
        group = self.show("ControlGroup")["ControlGroup"]
        find = (
            f"for p in $(cat $(find /sys/fs/cgroup{group} -name cgroup.procs)); do "
            "case $(tr '\\0' ' ' </proc/$p/cmdline) in VLLM::EngineCore*) echo $p;; esac; done"
        )
        return int(self.host.run(["sh", "-c", find], timeout=60).stdout.split()[0])

    def signal(self, which: str, name: str) -> None:
        """Send a signal to one of its processes."""
        self.host.run(["kill", "-s", name, str(self.pid(which))])

    @property
    def watch(self) -> str:
        """The unit of its watch."""
        return f"quadgen-watch@{self.name}.service"

    # Requests.

    def ask(self, path: str, body: dict[str, Any] | None = None, timeout: float = 30) -> tuple[int, bytes]:
        """Ask the server from outside; status and body.

        Raises:
            OSError: no answer.
            http.client.HTTPException: none that is HTTP.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            data = None if body is None else json.dumps(body)
            headers = {"Content-Type": "application/json"} if data else {}
            connection.request("GET" if data is None else "POST", path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@dataclass
class Load:
    """Clients that ask for completions as fast as they are answered.

    Args:
        service: Whom they ask.
        clients: How many.
        tokens: How many tokens each request wants.
        timeout: Seconds after which a client gives up on a request.
    """

    service: Served
    clients: int
    tokens: int = 32
    timeout: float = 120
    answered: int = 0
    failed: int = 0
    seconds: list[float] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        for number in range(self.clients):
            thread = threading.Thread(target=self._run, args=(number,), daemon=True)
            self._threads.append(thread)
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(self.timeout + 5)

    def _run(self, number: int) -> None:
        body = {"model": "tiny", "prompt": f"a b c {number}", "max_tokens": self.tokens, "ignore_eos": True}
        while not self._stop.is_set():
            begun = time.monotonic()
            try:
                status, _ = self.service.ask("/v1/completions", body, self.timeout)
            except (OSError, http.client.HTTPException):
                status = 0
            if status == 200:
                self.answered += 1
                self.seconds.append(time.monotonic() - begun)
            else:
                self.failed += 1
                self._stop.wait(0.5)
