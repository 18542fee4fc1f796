"""All levels, now, for people and other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from quadgen.probe.look import Looker

if TYPE_CHECKING:
    from quadgen.probe.clock import Clock
    from quadgen.probe.probefile import ProbeFile
    from quadgen.probe.process import Systemd
    from quadgen.probe.server import ModelServer
    from quadgen.probe.verdict import Verdict

# States in which somebody who asks gets an answer, or is meant not to.
_GOOD = frozenset({"serving", "busy", "asleep"})


class Level(NamedTuple):
    """One question and what it was answered.

    Args:
        name: `unit`, or what was asked.
        answer: In a few words.
        seconds: How long the answer took.
    """

    name: str
    answer: str
    seconds: float = 0.0


class Report(NamedTuple):
    """Everything that one look at all levels showed."""

    levels: tuple[Level, ...]
    verdict: Verdict

    @property
    def good(self) -> bool:
        """Whether the service does what it should."""
        return self.verdict.state in _GOOD

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {
            "state": self.verdict.state,
            "evidence": self.verdict.evidence,
            "levels": [
                {"level": level.name, "answer": level.answer, "seconds": round(level.seconds, 3)}
                for level in self.levels
            ],
        }


def look_once(file: ProbeFile, server: ModelServer, *, systemd: Systemd, clock: Clock) -> Report:
    """Look at every level, the one-token request included.

    Args:
        file: The service.
        server: What is asked.
        systemd: Who knows the unit.
        clock: The time.
    """
    unit = systemd.state(file.unit)
    levels = [Level(name="unit", answer=f"{unit.active} ({unit.sub})" if unit.known else "not known")]
    looker = Looker(file, server, clock)
    alive = None if not unit.known else unit.main_pid != 0 or unit.active == "activating"
    verdict = looker.look(lambda question: question(), alive=alive, unit=unit.active)
    levels += [
        Level(name=name, answer=answer.words(), seconds=answer.seconds)
        for name, answer in looker.answers.items()
    ]
    if verdict.state in {"serving", "busy", "degraded"} and server.works:
        work = looker.begin_work()()
        looker.end_work(work)
        levels.append(Level(name="one token", answer=work.words(), seconds=work.seconds))
        verdict = looker.look(lambda question: question(), alive=alive, unit=unit.active)
    return Report(levels=tuple(levels), verdict=verdict)
