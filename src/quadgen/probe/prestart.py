"""`ExecStartPre=`: what must hold before the container is started, each wait bounded and told.

What is wrong here never reaches the gate: `podman run` would end with 125 or 126 first (measured).
"""

from __future__ import annotations

import contextlib
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from quadgen.probe import gpumemory
from quadgen.probe.clock import span
from quadgen.probe.devices import absent
from quadgen.probe.gpulock import GpuLocks, Holder, with_uuids
from quadgen.probe.notify import extend, status
from quadgen.probe.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from quadgen.probe.clock import Clock
    from quadgen.probe.notify import Notifier
    from quadgen.probe.probefile import ProbeFile
    from quadgen.probe.process import Runner
    from quadgen.probe.waiting import Waiter

_EVERY = 1.0
_EXTENSION = 60.0


class Tools(NamedTuple):
    """What the checks work with; every one of them has a double in `doubles`.

    Args:
        runner: Runs Podman and nvidia-smi.
        locks: The GPUs' locks.
        waiter: What it waits with; knows the stop signal.
        clock: The time.
        notifier: The service manager.
        say: Prints one line into the journal.
    """

    runner: Runner
    locks: GpuLocks
    waiter: Waiter
    clock: Clock
    notifier: Notifier
    say: Callable[[str], None]


class Prestart:
    """The checks before one start.

    Args:
        file: The service.
        invocation: The unit's INVOCATION_ID.
        tools: What they work with.
    """

    def __init__(self, file: ProbeFile, invocation: str, tools: Tools) -> None:
        self._file = file
        self._invocation = invocation
        self._tools = tools

    def run(self) -> Reason | None:
        """Run them all; the answer is why the start must not go on."""
        checks = (
            self._binds,
            self._secrets,
            self._image,
            self._socket,
            self._devices,
            self._lock,
            self._memory,
        )
        for check in checks:
            reason = check()
            if reason is not None:
                return reason
        return None

    def _binds(self) -> Reason | None:
        missing = [path for path in self._file.needs.binds if not Path(path).exists()]
        if not missing:
            return None
        what = f"mounted from the host, but not there: {', '.join(missing)}"
        return Reason(kind="bind-source", what=what, remedy="create it, with the right owner", permanent=True)

    def _secrets(self) -> Reason | None:
        wanted = self._file.needs.secrets
        if not wanted:
            return None
        done = self._tools.runner.run(["podman", "secret", "ls", "--format", "{{.Name}}"], timeout=30)
        missing = sorted(set(wanted) - set(done.stdout.split())) if done.status == 0 else []
        if not missing:
            return None
        remedy = f"create it: `printf %s VALUE | podman secret create {missing[0]} -`"
        what = f"no Podman secret named {', '.join(missing)}"
        return Reason(kind="secret", what=what, remedy=remedy, permanent=True)

    def _image(self) -> Reason | None:
        needs = self._file.needs
        if needs.pull != "never" or not needs.image:
            return None
        done = self._tools.runner.run(["podman", "image", "exists", needs.image], timeout=30)
        if done.status != 1:
            return None
        what = f'the image {needs.image} is not here, and pull is "never"'
        return Reason(kind="image", what=what, remedy=f"`podman pull {needs.image}`", permanent=True)

    def _socket(self) -> Reason | None:
        """Remove what a server left behind: vLLM fails with "address in use" on its own old socket."""
        path = Path(self._file.server.uds) if self._file.server.uds is not None else None
        if path is None or not path.exists():
            return None
        if not stat.S_ISSOCK(path.stat().st_mode):
            remedy = "choose another path for uds, or move it away"
            return Reason(kind="socket", what=f"{path} is no socket", remedy=remedy, permanent=True)
        if _listens(path):
            return Reason(
                kind="socket", what=f"another server listens on {path}", remedy="end it, or change uds"
            )
        with contextlib.suppress(OSError):
            path.unlink()
            self._tools.say(f"removed the stale socket {path}")
        return None

    def _devices(self) -> Reason | None:
        needs = self._file.needs
        what = self._wait(lambda: ", ".join(absent(needs.devices, needs.cdi_dirs)), "waiting for {}")
        if not what:
            return None
        remedy = "make the CDI specs: `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`"
        waited = span(self._file.budgets.wait_timeout)
        return Reason(kind="cdi", what=f"no such device after {waited}: {what}", remedy=remedy)

    def _lock(self) -> Reason | None:
        if not self._file.needs.gpus:
            return None
        gpus = with_uuids(self._tools.runner, self._file.needs.gpus)
        now = self._tools.clock.time()
        me = Holder(unit=self._file.unit, invocation=self._invocation, since=now)
        # Whoever loads may take as long as this service may.
        patience = max(self._file.budgets.wait_timeout, self._file.budgets.startup_timeout)
        what = self._wait(lambda: self._held(gpus, me), "waiting, {}", patience)
        if not what:
            return None
        return Reason(
            kind="gpu-lock", what=f"{what}, for longer than {span(patience)}", remedy="see that unit's log"
        )

    def _held(self, gpus: list[str], me: Holder) -> str:
        try:
            held = self._tools.locks.take(gpus, me)
        except OSError as error:
            return f"the locks' folder cannot be used ({error.strerror})"
        if held is None:
            return ""
        gpu, holder = held
        return f"{holder.unit} is loading onto GPU {gpu}"

    def _memory(self) -> Reason | None:
        needs = self._file.needs
        if not needs.gpus:
            return None
        before = gpumemory.cards(self._tools.runner, needs.gpus)
        if not before:
            return None
        looks = [before]

        def wanting() -> str:
            now = gpumemory.cards(self._tools.runner, needs.gpus)
            looks.append(now)
            short = [card for card in now if gpumemory.wanting(card, needs.gpu_memory)]
            if short:
                return self._short(short[0])
            return "" if gpumemory.steady(looks[-2], now) else "its memory is still changing"

        self._tools.waiter.wait(_EVERY)
        what = self._wait(wanting, "waiting for GPU memory: {}")
        if not what or "still changing" in what:
            return None
        remedy = "end what holds it, or lower gpu-memory-utilization"
        return Reason(kind="gpu-memory-taken", what=what, remedy=remedy)

    def _short(self, card: gpumemory.Card) -> str:
        missing = gpumemory.wanting(card, self._file.needs.gpu_memory)
        who = gpumemory.holders(self._tools.runner, card)
        return f"GPU {card.number} has {card.free} MiB free, {missing} MiB too few; held by {who}"

    def _wait(self, look: Callable[[], str], text: str, patience: float | None = None) -> str:
        """Look until nothing is wanting; the answer is what still is when patience ends."""
        until = self._tools.clock.monotonic() + (
            self._file.budgets.wait_timeout if patience is None else patience
        )
        told = ""
        while what := look():
            if self._tools.clock.monotonic() >= until:
                return what
            if _without_figures(what) != told:
                self._tools.say(text.format(what))
                told = _without_figures(what)
            self._tools.notifier.send(f"{status(text.format(what))}\n{extend(_EXTENSION)}")
            if "stop" in self._tools.waiter.wait(_EVERY):
                return what
        return ""


def _without_figures(text: str) -> str:
    return "".join(letter for letter in text if not letter.isdigit())


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(2)
        try:
            sock.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True
