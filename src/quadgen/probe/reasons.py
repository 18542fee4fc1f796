"""Why a start failed or a server died: recognised kinds, each with its remedy.

A row is `permanent` only where the same files on the same machine must fail again, because then the unit is
ended without another attempt. Where memory, a peer or the network may have changed meanwhile, it is not.
The rows stand in order: what causes others comes first, so a worker's lost connection never hides the
out-of-memory error of its neighbour.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from quadgen.probe.reason_rows import ROWS, STATUS_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quadgen.probe.probefile import ProbeFile
    from quadgen.probe.reason_rows import ReasonRow


class Reason(NamedTuple):
    """Why something ended.

    Args:
        kind: Stable name, for scripts.
        what: What happened, in a few words.
        remedy: What to do about it; empty where nothing better than reading the log is known.
        line: The line of the log that told.
        permanent: Whether a restart cannot help.
    """

    kind: str
    what: str
    remedy: str = ""
    line: str = ""
    permanent: bool = False

    def words(self) -> str:
        """The reason in one line, with the log's own words and the remedy."""
        text = f"{self.what}: {self.line}" if self.line else self.what
        return f"{text} -> {self.remedy}" if self.remedy else text

    def to_json(self) -> dict[str, Any]:
        """The reason as the state file keeps it."""
        return {
            "kind": self.kind,
            "what": self.what,
            "remedy": self.remedy,
            "line": self.line,
            "permanent": self.permanent,
        }


# vLLM's lines that only say that something said before has gone wrong.
_HOLLOW = re.compile(
    r"Engine core initialization failed|WorkerProc initialization failed|EngineCore failed to start"
    r"|WorkerProc failed to start|EngineDeadError|Cancelled|KeyboardInterrupt|See root cause above"
)
# A line of source in a traceback; the error itself is told in a line of its own.
_SOURCE = re.compile(r"raise [\w.]+(?:\(|$| from )")
_LEVEL = re.compile(r"\b(?:INFO|WARNING|DEBUG)\b \d\d-\d\d \d\d:\d\d:\d\d")
_ERROR = re.compile(
    r"(?:^|\s|\])(?:[A-Za-z_][\w.]*(?:Error|Exception|Exit)|error|Error|ERROR|FATAL)\b\s*[:(]"
)
# `(EngineCore pid=7) ERROR 01-31 10:00:00 [core.py:9] `: who said it, when and where.
_PREFIX = re.compile(r"^(?:\(\w[^)]*\)\s*)?(?:(?:ERROR|CRITICAL)\s[\d-]+\s[\d:]+\s\[[^]]*\]\s*)?")
_LONGEST = 300
_COUNTED = re.compile(r"\d+ validation errors? for \w+")
_INPUT = re.compile(r"\s*\[type=.*$")


@cache
def patterns() -> tuple[tuple[ReasonRow, re.Pattern[str]], ...]:
    """The rows with their patterns compiled, 20 ms the first time: a gate has them ready before a death."""
    return tuple((row, re.compile(row.pattern)) for row in ROWS)


def diagnose(log: Sequence[str], file: ProbeFile, *, status: int | None = None) -> Reason | None:
    """The reason that a log, and perhaps an exit status, tell; None where they tell none.

    Args:
        log: The last lines, oldest first.
        file: The service, for the remedies.
        status: Exit status of the main process; of one that died by a signal 128 and its number.
    """
    told = [line for line in log if not _LEVEL.search(line) and not _SOURCE.match(bare(line))]
    for row, pattern in patterns():
        found = next((number for number, line in enumerate(told) if pattern.search(line)), None)
        if found is not None:
            reason = Reason(kind=row.kind, what=row.what, remedy=row.remedy, permanent=row.permanent)
            return _filled(reason._replace(line=_telling(told, found)), file)
    row_of_status = STATUS_ROWS.get(status) if status is not None else None
    last = last_error(told)
    if row_of_status is not None:
        kind, what, remedy = row_of_status
        return _filled(Reason(kind=kind, what=what, remedy=remedy, line=last), file)
    return Reason(kind="error", what="the server failed", line=last) if last else None


def _telling(log: Sequence[str], number: int) -> str:
    """The line, or the one behind it that says what a pydantic error only counts."""
    if _COUNTED.search(log[number]):
        for line in log[number + 1 : number + 4]:
            if line.startswith(" ") and line.strip():
                return bare(_INPUT.sub("", line))
    return bare(log[number])


def last_error(log: Iterable[str]) -> str:
    """The last line that names an error of its own, without its prefix; empty where there is none."""
    for line in reversed(list(log)):
        if _ERROR.search(line) and not _HOLLOW.search(line):
            return bare(line)
    return ""


def bare(line: str) -> str:
    """A line of vLLM's log without process, level, time and place; of a long one the sentences that fit."""
    text = _PREFIX.sub("", line.strip()).strip()
    if len(text) <= _LONGEST:
        return text
    least = _LONGEST // 2
    sentence, word = (text.rfind(end, least, _LONGEST) for end in (". ", " "))
    return text[: sentence + 1] if sentence >= 0 else text[: word if word >= 0 else _LONGEST] + " …"


def _filled(reason: Reason, file: ProbeFile) -> Reason:
    names = {
        "service": file.service,
        "container": file.container,
        "image": file.needs.image or "the image",
        "model": ", ".join(file.models) or "the model",
        "secrets": ", ".join(file.needs.secrets) or "its secrets",
    }
    return reason._replace(remedy=reason.remedy.format(**names))
