"""Hours of watching in no time: the watch with doubles of everything around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from probe_samples import (
    DEAD_ENGINE,
    NOT_FOUND,
    OK,
    REFUSED,
    RESET,
    TIMEOUT,
    UNAUTHORIZED,
    metrics,
    models,
    probe_file,
)

from quadgen.probe.client import Answer
from quadgen.probe.doubles import (
    FakeClient,
    FakeClock,
    FakeExchange,
    FakeNotifier,
    FakeRunner,
    FakeWaiter,
    Request,
)
from quadgen.probe.probefile import Budgets, ProbeFile
from quadgen.probe.process import Completed, Container, Systemd
from quadgen.probe.server import ModelServer
from quadgen.probe.state import ServiceState
from quadgen.probe.watch import Tools, Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

BUDGETS = Budgets(interval=10, failures=3, hang_timeout=120)


def shown(active: str, *, pid: int = 4711, invocation: str = "aaa") -> Completed:
    text = f"ActiveState={active}\nSubState=running\nInvocationID={invocation}\nMainPID={pid}\nNRestarts=0\n"
    return Completed(status=0, stdout=text)


class KillingRunner(FakeRunner):
    """Runs a Podman whose container dies a second after its kill, as systemd then shows."""

    waiter: FakeWaiter

    def run(self, argv: Sequence[str], *, timeout: float) -> Completed:
        if list(argv[:2]) == ["podman", "kill"]:
            self.waiter.at(1, "died")
            self.answers["systemctl --user show"] = shown("activating", pid=0)
        return super().run(argv, timeout=timeout)


class Service:
    """A service that is watched for a while, and answers as a function of the time says."""

    def __init__(
        self, folder: Path, answer: Callable[[float, str], Answer], file: ProbeFile | None = None
    ) -> None:
        self.file = file or probe_file(budgets=BUDGETS)
        self.clock = FakeClock()
        self.waiter = FakeWaiter(self.clock)
        self.begun = self.clock.now
        self.client = FakeClient(lambda request: answer(self.clock.now - self.begun, request.path))
        self.notifier = FakeNotifier()
        self.runner = KillingRunner(
            {
                "systemctl --user show": shown("active"),
                "podman kill": Completed(status=0),
                "journalctl": Completed(status=0, stdout='{"MESSAGE":"last words"}\n'),
            }
        )
        self.runner.waiter = self.waiter
        self.state = ServiceState(folder, "vllm-a")
        self.said: list[str] = []
        self.opened: list[int] = []

    def run(self, seconds: float) -> Service:
        self.waiter.at(seconds, "stop")
        tools = Tools(
            server=lambda: ModelServer(self.file, self.client, []),
            exchange=FakeExchange(self.waiter),
            worker=FakeExchange(self.waiter, "work"),
            waiter=self.waiter,
            systemd=Systemd(self.runner),
            container=Container("vllm-a", self.runner),
            runner=self.runner,
            state=self.state,
            clock=self.clock,
            notifier=self.notifier,
            say=self.said.append,
            open_process=self._open,
            close_process=lambda _: None,
        )
        Watch(self.file, tools).run()
        return self

    def _open(self, pid: int) -> int:
        self.opened.append(pid)
        return pid

    @property
    def kills(self) -> int:
        return self.runner.count("podman kill --signal KILL vllm-a")

    @property
    def states(self) -> list[str]:
        return [row["state"] for row in self.state.watch()["verdicts"]]

    def first_kill(self) -> float:
        at: float = self.state.watch()["kills"][0]["at"] - 1_700_000_000.0 - self.begun
        return at


def healthy(
    tokens: Callable[[float], float] = lambda _: 5.0, **gauges: Any
) -> Callable[[float, str], Answer]:
    def answer(at: float, path: str) -> Answer:
        table = {
            "/health": OK,
            "/v1/models": models("qwen"),
            "/metrics": metrics(tokens=tokens(at), **gauges),
        }
        return table.get(path, OK)

    return answer


def with_paths(base: Callable[[float, str], Answer], **changed: Answer) -> Callable[[float, str], Answer]:
    table = {"/" + path.replace("__", "/"): answer for path, answer in changed.items()}
    return lambda at, path: table.get(path) or base(at, path)


def from_time(
    when: float, before: Callable[[float, str], Answer], after: Callable[[float, str], Answer]
) -> Any:
    return lambda at, path: (after if at >= when else before)(at, path)


DAY = 3 * 3600.0


def test_an_idle_server_serves_on_and_is_asked_for_a_token_now_and_then(tmp_path: Path) -> None:
    service = Service(tmp_path, healthy()).run(DAY)
    assert service.states == ["serving"]
    assert service.kills == 0
    asked = sum(r.path == "/v1/completions" for r in service.client.requests)
    assert DAY / 120 < asked < DAY / 50


def test_a_busy_server_is_not_asked_for_a_token(tmp_path: Path) -> None:
    service = Service(tmp_path, healthy(tokens=lambda at: at, running=9, waiting=50)).run(3600)
    assert service.states == ["busy"]
    assert not any(r.path == "/v1/completions" for r in service.client.requests)


def test_names_are_asked_for_seldom(tmp_path: Path) -> None:
    service = Service(tmp_path, healthy(tokens=lambda at: at)).run(3600)
    paths = [r.path for r in service.client.requests]
    assert paths.count("/v1/models") <= paths.count("/health") / 9


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (with_paths(healthy(), v1__models=models("llama")), "misconfigured"),
        (with_paths(healthy(), v1__models=UNAUTHORIZED, v1__completions=UNAUTHORIZED), "misconfigured"),
        (with_paths(healthy(), health=NOT_FOUND), "misconfigured"),
        (with_paths(healthy(), health=Answer(kind="not-http")), "misconfigured"),
        (healthy(awake=0), "asleep"),
        (with_paths(healthy(), metrics=NOT_FOUND), "serving"),
        (with_paths(healthy(), metrics=NOT_FOUND, v1__completions=NOT_FOUND), "serving"),
        (with_paths(healthy(running=3, tokens=lambda at: at), health=TIMEOUT), "busy"),
        (with_paths(healthy(), v1__completions=Answer(kind="status", status=500)), "degraded"),
    ],
    ids=[
        *("other-names", "other-key", "404", "not-http", "asleep", "no-metrics", "no-metrics-no-completions"),
        *("health-times-out-under-load", "completions-fail"),
    ],
)
def test_what_lives_is_left_alone_for_ever(
    tmp_path: Path, answer: Callable[[float, str], Answer], state: str
) -> None:
    service = Service(tmp_path, answer).run(DAY)
    assert service.states[-1] == state
    assert service.kills == 0


def test_a_few_failed_looks_are_nothing(tmp_path: Path) -> None:
    def answer(at: float, path: str) -> Answer:
        return REFUSED if at % 100 < 15 else healthy(tokens=lambda at: at)(at, path)

    service = Service(tmp_path, answer).run(3600)
    assert service.kills == 0


HANG = 1000.0


def frozen_engine(_at: float, path: str) -> Answer:
    return healthy()(0, path) if path in {"/health", "/v1/models", "/metrics"} else TIMEOUT


def all_silent(_at: float, _path: str) -> Answer:
    return TIMEOUT


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (healthy(), frozen_engine),
        (healthy(tokens=lambda at: at, running=3), with_paths(healthy(running=3), v1__completions=TIMEOUT)),
        (healthy(tokens=lambda at: at, running=3), frozen_engine),
        (healthy(), all_silent),
        (healthy(tokens=lambda at: at, running=3), all_silent),
    ],
    ids=["engine-idle", "engine-at-work", "engine-at-work-gauge-reads-0", "server-idle", "server-at-work"],
)
def test_a_hang_is_ended_within_its_timeout_and_two_looks(tmp_path: Path, before: Any, after: Any) -> None:
    service = Service(tmp_path, from_time(HANG, before, after))
    service.run(HANG + 300)
    assert "hung" in service.states
    assert service.kills == 1
    # A look asks two questions, and each may take its deadline.
    assert HANG < service.first_kill() <= HANG + 120 + 2 * 10 + 2 * 5


@pytest.mark.parametrize("answer", [REFUSED, RESET, DEAD_ENGINE], ids=lambda a: a.kind)
def test_a_dead_server_is_ended_after_failures_in_a_row(tmp_path: Path, answer: Answer) -> None:
    service = Service(tmp_path, from_time(100, healthy(), lambda _at, _path: answer))
    service.run(300)
    assert service.kills == 1
    assert 119 <= service.first_kill() <= 140


def test_before_the_end_a_snapshot_goes_to_the_journal(tmp_path: Path) -> None:
    service = Service(tmp_path, from_time(100, healthy(), lambda _at, _path: REFUSED))
    service.run(150)
    text = "\n".join(service.said)
    assert "ending the container, dead: /health: connection refused" in text
    assert "last metrics: 0 running, 0 waiting, 12 tokens" in text
    assert "| last words" in text
    assert "vllm-a: ended by podman kill" in text
    assert service.states[-1] == "dead"


@pytest.mark.parametrize(
    "unit",
    [shown("deactivating"), shown("active", invocation="later"), shown("failed"), Completed(status=1)],
    ids=["being-stopped", "restarted-meanwhile", "failed", "no-bus"],
)
def test_a_unit_that_systemd_is_busy_with_is_left_alone(tmp_path: Path, unit: Completed) -> None:
    service = Service(tmp_path, from_time(100, healthy(), lambda _at, _path: REFUSED))
    service.runner.answers["systemctl --user show"] = [shown("active"), unit]
    service.run(200)
    assert service.kills == 0


def test_a_restarted_unit_is_watched_anew(tmp_path: Path) -> None:
    service = Service(tmp_path, healthy())
    service.runner.answers["systemctl --user show"] = [
        *(shown("active"), shown("activating", pid=0), shown("active", pid=5000, invocation="bbb")),
    ]
    service.waiter.at(100, "died")
    service.run(200)
    assert service.opened == [4711, 5000]
    assert service.states == ["serving", "dead", "serving"]
    assert "waiting: vllm-a.service is activating" in service.notifier.statuses
    assert service.state.watch()["invocation"] == "bbb"


def test_systemd_is_told_that_it_is_ready_alive_and_how_the_model_is(tmp_path: Path) -> None:
    service = Service(tmp_path, healthy()).run(600)
    assert service.notifier.sent[0] == "READY=1"
    assert service.notifier.sent.count("WATCHDOG=1") >= 60
    assert "serving: 0 running, 0 waiting, 12 tokens" in service.notifier.statuses
    assert service.notifier.sent[-1] == "STOPPING=1"


def test_a_look_at_a_good_server_starts_no_process(tmp_path: Path) -> None:
    service = Service(tmp_path, healthy(tokens=lambda at: at)).run(3600)
    assert service.runner.ran == [service.runner.ran[0]]


def test_verdicts_and_ends_outlive_the_watch(tmp_path: Path) -> None:
    first = Service(tmp_path, from_time(50, healthy(), lambda _at, _path: REFUSED))
    first.run(90)
    second = Service(tmp_path, healthy()).run(60)
    assert second.states[:2] == ["serving", "degraded"]
    assert second.states[-1] == "serving"
    assert len(second.state.watch()["kills"]) == 1


def test_the_file_is_not_written_at_every_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[dict[str, Any]] = []
    original = ServiceState.record_watch

    def record(state: ServiceState, facts: dict[str, Any]) -> None:
        written.append(facts)
        original(state, facts)

    monkeypatch.setattr(ServiceState, "record_watch", record)
    Service(tmp_path, healthy()).run(3600)
    assert 55 <= len(written) <= 65


def test_a_stop_does_not_wait_for_a_silent_server(tmp_path: Path) -> None:
    service = Service(tmp_path, all_silent).run(2)
    assert service.clock.now - service.begun == 2


def test_requests_carry_a_deadline(tmp_path: Path) -> None:
    service = Service(tmp_path, from_time(100, healthy(), all_silent)).run(300)
    deadlines: dict[str, set[float]] = {}
    request: Request
    for request in service.client.requests:
        deadlines.setdefault(request.path, set()).add(request.deadline)
    assert min(deadlines["/health"]) == 5.0
    assert max(deadlines["/health"]) == 30.0
