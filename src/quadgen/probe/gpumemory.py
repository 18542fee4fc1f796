"""A card's memory before a start: free enough, and steady, for a predecessor gives it back bit by bit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quadgen.probe.process import Runner

# Memory that comes and goes with a desktop.
_STEADY_MIB = 64


class Card(NamedTuple):
    """One GPU's memory, in MiB."""

    number: str
    uuid: str
    total: int
    used: int
    free: int


def cards(runner: Runner, gpus: Sequence[str]) -> list[Card]:
    """The memory of the wanted GPUs; none where there is no nvidia-smi, or no such card.

    Args:
        runner: What runs nvidia-smi.
        gpus: Ids as in the probe file: index, UUID, `INDEX:MIG`, `all`.
    """
    query = "--query-gpu=index,uuid,memory.total,memory.used,memory.free"
    done = runner.run(["nvidia-smi", query, "--format=csv,noheader,nounits"], timeout=20)
    found = [card for line in done.stdout.splitlines() if (card := _card(line)) is not None]
    # A slice of a MIG card is not the card: its memory is not told here.
    whole = {gpu for gpu in gpus if ":" not in gpu}
    return [card for card in found if "all" in whole or card.number in whole or card.uuid in whole]


def wanting(card: Card, share: float | None) -> int:
    """MiB that are missing for a server that takes `share` of the card, as vLLM itself will reckon."""
    return max(0, int(card.total * share) - card.free) if share is not None else 0


def steady(before: Sequence[Card], now: Sequence[Card]) -> bool:
    """Whether no card's memory has changed between two looks."""
    used = {card.uuid: card.used for card in before}
    return all(abs(card.used - used.get(card.uuid, -_STEADY_MIB)) < _STEADY_MIB for card in now)


def holders(runner: Runner, card: Card) -> str:
    """Who holds a card's memory, unit included: `python3 (pid 71, vllm-b.service) 40960 MiB`."""
    query = "--query-compute-apps=gpu_uuid,pid,used_memory,process_name"
    done = runner.run(["nvidia-smi", query, "--format=csv,noheader,nounits"], timeout=20)
    found = []
    for line in done.stdout.splitlines():
        uuid, pid, used, name, *_ = [word.strip() for word in line.split(",")] + [""] * 4
        if uuid == card.uuid:
            found.append(f"{name.rsplit('/', 1)[-1]} (pid {pid}{_unit(pid)}) {used} MiB")
    return "; ".join(found) or "a process that nvidia-smi does not name"


def _unit(pid: str) -> str:
    try:
        units = re.findall(r"([^/\s]+\.service)", Path(f"/proc/{pid}/cgroup").read_text())
    except OSError:
        return ""
    return f", {units[-1]}" if units else ""


def _card(line: str) -> Card | None:
    words = [word.strip() for word in line.split(",")]
    try:
        index, uuid, *figures = words
        total, used, free = (int(figure) for figure in figures)
    except ValueError:
        # `[N/A]` of cards whose memory is the machine's.
        return None
    return Card(number=index, uuid=uuid, total=total, used=used, free=free)
