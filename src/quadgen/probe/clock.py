"""The clock as a seam: budgets of an hour are tested in no time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What the probe asks about time."""

    def monotonic(self) -> float:
        """Seconds that never go back, for budgets."""
        ...

    def time(self) -> float:
        """Seconds since 1970, for what people read."""
        ...


class SystemClock:
    """The machine's clock."""

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def time(self) -> float:
        """Seconds since 1970."""
        return time.time()


def span(seconds: float) -> str:
    """A length of time as people write it: `48s`, `1m12s`, `2h05m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    return f"{minutes // 60}h{minutes % 60:02}m"
