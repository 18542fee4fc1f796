"""Waiting for several things at once: a process's death, a log line, a signal, an answer, or the time.

The kernel does the waiting: a pidfd becomes readable when its process ends, so a death is seen at once and
costs nothing before it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from quadgen.probe.client import Answer

Event: TypeAlias = Literal["ending", "died", "log", "stop", "answer", "work"]
Question: TypeAlias = "Callable[[], Answer]"


class Waiter(Protocol):
    """Waits for events."""

    def wait(self, seconds: float) -> frozenset[Event]:
        """Wait until something happens, at most `seconds`; the answer is what did."""
        ...

    def add(self, fd: int, event: Event) -> None:
        """Wait for this file descriptor as well."""
        ...

    def remove(self, fd: int) -> None:
        """Stop waiting for it."""
        ...


class PollWaiter:
    """Waits by poll()."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._events: dict[int, Event] = {}

    def add(self, fd: int, event: Event) -> None:
        """Wait for this file descriptor as well."""
        self._events[fd] = event
        self._poll.register(fd, select.POLLIN)

    def remove(self, fd: int) -> None:
        """Stop waiting for it."""
        if self._events.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def wait(self, seconds: float) -> frozenset[Event]:
        """Wait until something happens, at most `seconds`; the answer is what did."""
        ready = self._poll.poll(max(0.0, seconds) * 1000)
        return frozenset(self._events[fd] for fd, _ in ready if fd in self._events)


class StopSignal:
    """SIGTERM and SIGINT as a readable file descriptor; from its creation on they end nothing else."""

    def __init__(self) -> None:
        self._reader, writer = socket.socketpair()
        os.set_blocking(writer.fileno(), False)
        self._writer = writer
        self._wakeup = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._before = {s: signal.signal(s, _nothing) for s in (signal.SIGTERM, signal.SIGINT)}

    def fileno(self) -> int:
        """What becomes readable, and stays so."""
        return self._reader.fileno()

    def close(self) -> None:
        """Give the signals their former meaning."""
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Let the wakeup descriptor tell."""


def process_fd(pid: int) -> int | None:
    """A pidfd of a process, or None if it has ended already."""
    with contextlib.suppress(OSError):
        return os.pidfd_open(pid)
    return None


class Exchange(Protocol):
    """Has one question asked while the caller goes on waiting for other things."""

    def fileno(self) -> int:
        """What becomes readable when the answer is there."""
        ...

    def ask(self, question: Question) -> None:
        """Have it asked; the one before must have been taken or abandoned."""
        ...

    def take(self) -> Answer | None:
        """The answer, if it is there."""
        ...


class ThreadExchange:
    """Asks in a thread of its own, so that neither a death nor a signal waits for a silent server."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._question: Question | None = None
        self._answers: list[Answer] = []
        self._asked = threading.Semaphore(0)
        self._thread: threading.Thread | None = None

    def fileno(self) -> int:
        """What becomes readable when the answer is there."""
        return self._reader

    def ask(self, question: Question) -> None:
        """Have it asked."""
        self._question = question
        if self._thread is None:
            # A daemon: nobody waits for a silent server when the gate is done.
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        self._asked.release()

    def take(self) -> Answer | None:
        """The answer, if it is there."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 1)
        return self._answers.pop(0) if self._answers else None

    def _work(self) -> None:
        while True:
            self._asked.acquire()
            question: Any = self._question
            self._answers.append(question())
            os.write(self._writer, b".")
