"""The entry point that units run: `prestart`, `gate`, `watch`, `poststop` or `once`, and a probe file.

It must be light: one watch runs for every service, and a start waits for each of these processes. So each
command is a module of its own, and the words are read without a parser's help.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from quadgen.errors import QuadgenError
from quadgen.probe.journal import MARK
from quadgen.probe.probefile import load
from quadgen.probe.started import of_this_start

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = ("prestart", "gate", "watch", "poststop", "once")
_USAGE = f"usage: python3 -m quadgen.probe {'|'.join(COMMANDS)} FILE"
_USAGE_STATUS = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the answer is its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if len(words) != 2 or words[0] not in COMMANDS:
        sys.stderr.write(_USAGE + "\n")
        return _USAGE_STATUS
    command, path = words
    try:
        file = of_this_start(command, Path(path), load, os.environ)
    except QuadgenError as error:
        sys.stderr.write(f"{MARK}{command}: {error.message} -> {error.remedy}\n")
        # A recorder that fails would only hide what it was to record.
        return 0 if command == "poststop" else _USAGE_STATUS
    try:
        status: int = importlib.import_module(f"quadgen.probe.commands.{command}").run(file, os.environ)
    except Exception as error:  # noqa: BLE001 - a defect is told in one line as well
        sys.stderr.write(f"{MARK}{command}: a defect in quadgen: {_told(error)} -> please report it\n")
        return 0 if command == "poststop" else 1
    return status


def _told(error: BaseException) -> str:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = (
        f" ({Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno})" if place is not None else ""
    )
    return f"{type(error).__name__}: {error}{where}"
