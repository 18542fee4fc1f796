"""An hour of loading in no time: the gate with doubles of everything around it."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    models,
    probe_file,
)

from quadgen.probe.client import Answer
from quadgen.probe.doubles import (
    FakeClient,
    FakeClock,
    FakeExchange,
    FakeJournal,
    FakeMeter,
    FakeNotifier,
    FakeWaiter,
    Request,
)
from quadgen.probe.gate import Gate, Outcome, Tools
from quadgen.probe.probefile import Budgets, ProbeFile, Server
from quadgen.probe.progress import Traffic
from quadgen.probe.server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Callable

UP = "(APIServer pid=9) INFO:     Application startup complete."


@dataclass
class Start:
    """A start that is played: what happens when, and what the server then answers."""

    file: ProbeFile = field(default_factory=probe_file)
    ready_at: float = 30.0
    before: Answer = REFUSED
    listed: Answer = field(default_factory=lambda: models("qwen"))
    work: Answer = OK
    readable: bool = True
    traffic: Callable[[float], Traffic] = lambda _: Traffic()
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        self.begun = self.clock.now
        self.waiter = FakeWaiter(self.clock)
        self.journal = FakeJournal(readable=self.readable)
        self.notifier = FakeNotifier()
        self.client = FakeClient(self.answer)
        self.said: list[str] = []

    @property
    def elapsed(self) -> float:
        return self.clock.now - self.begun

    def answer(self, request: Request) -> Answer:
        if self.elapsed < self.ready_at:
            return self.before
        return {"/health": OK, "/v1/models": self.listed}.get(request.path, self.work)

    def log(self, at: float, *texts: str) -> Start:
        self.waiter.at(at, "log", lambda: self.journal.write(*texts))
        return self

    def run(self) -> Outcome:
        tools = Tools(
            server=ModelServer(self.file, self.client, [lambda key=key: key for key in self.keys]),
            exchange=FakeExchange(self.waiter),
            waiter=self.waiter,
            journal=self.journal,
            meter=FakeMeter(lambda: self.traffic(self.elapsed)),
            clock=self.clock,
            notifier=self.notifier,
            say=self.said.append,
        )
        return Gate(self.file, tools).run()

    def paths(self) -> list[str]:
        return [request.path for request in self.client.requests]


def test_it_holds_until_health_names_and_warm_up_are_right() -> None:
    start = Start()
    outcome = start.run()
    assert outcome.reason is None
    assert start.paths()[-3:] == ["/health", "/v1/models", "/v1/completions"]
    assert 30.0 <= start.elapsed <= 30.3
    assert start.notifier.statuses[-1] == "serving qwen"
    assert start.said[-1] == "serving qwen, after 30s"
    assert start.journal.closed


def test_it_asks_by_get_and_warms_up_with_one_token() -> None:
    start = Start()
    start.run()
    assert {r.method for r in start.client.requests[:-1]} == {"GET"}
    assert (
        start.client.requests[-1].body
        == b'{"model": "qwen", "prompt": "1", "max_tokens": 1, "temperature": 0}'
    )


@pytest.mark.parametrize(
    ("warmup", "path"),
    [("none", "/v1/models"), ("embedding", "/v1/embeddings"), ("pooling", "/pooling"), ("score", "/score")],
)
def test_the_warm_up_fits_the_model(warmup: Any, path: str) -> None:
    start = Start(probe_file(server=Server(url="http://127.0.0.1:8000", names=("qwen",), warmup=warmup)))
    assert start.run().reason is None
    assert start.paths()[-1] == path


def test_the_root_path_stands_before_every_path() -> None:
    start = Start(probe_file(server=Server(url="http://h:1", root_path="/llm", names=("qwen",))))
    start.answer = lambda request: OK if request.path != "/llm/v1/models" else models("qwen")  # type: ignore[method-assign]
    start.client.answer = start.answer
    assert start.run().reason is None
    assert start.paths() == ["/llm/health", "/llm/v1/models", "/llm/v1/completions"]


@pytest.mark.parametrize(
    "before", [REFUSED, RESET, TIMEOUT, DEAD_ENGINE, Answer(kind="no-socket")], ids=lambda a: a.kind
)
def test_whatever_connecting_gives_while_it_loads_means_not_yet(before: Answer) -> None:
    start = Start(before=before, ready_at=90)
    assert start.run().reason is None
    assert start.elapsed >= 90


def test_a_death_fails_the_start_with_the_logs_last_error() -> None:
    start = Start(ready_at=1e9)
    start.log(9.0, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    start.waiter.at(9.1, "died")
    outcome = start.run()
    assert outcome.died
    assert outcome.reason is not None
    assert outcome.reason.kind == "gpu-memory"
    assert start.elapsed == pytest.approx(9.1, abs=0.2)


def test_last_words_are_heard_while_conmon_cleans_up() -> None:
    start = Start(ready_at=1e9)
    start.waiter.at(9.0, "ending")
    start.log(9.02, "vllm: error: unrecognized arguments: --colour")
    start.waiter.at(9.1, "died", lambda: closed.append(start.journal.closed))
    closed: list[bool] = []
    outcome = start.run()
    # Nothing of the gate is left to be waited for when conmon ends.
    assert closed == [True]
    assert outcome.reason is not None
    assert outcome.reason.kind == "option"
    assert outcome.reason.permanent


def test_a_death_without_words_says_how_far_it_came() -> None:
    start = Start(ready_at=1e9).log(3, "INFO Starting to load model org/m...")
    start.waiter.at(9.0, "died")
    outcome = start.run()
    assert outcome.reason is not None
    assert outcome.reason.what == "the container ended while opening the model, 9s"


def test_a_stop_while_loading_ends_at_once() -> None:
    start = Start(ready_at=1e9)
    start.waiter.at(5.0, "stop")
    outcome = start.run()
    assert outcome.stopped
    assert not outcome.died
    assert start.elapsed == 5.0


@pytest.mark.parametrize("event", ["died", "stop"])
def test_neither_death_nor_stop_waits_for_a_silent_server(event: Any) -> None:
    start = Start(ready_at=0, work=TIMEOUT)
    start.waiter.at(5.0, event)
    start.run()
    assert start.elapsed == pytest.approx(5.0, abs=0.2)


def test_other_names_fail_the_start_and_are_told() -> None:
    start = Start(listed=models("llama", "lora"))
    outcome = start.run()
    assert outcome.reason is not None
    assert outcome.reason.what == "it serves llama, lora, not qwen"
    assert outcome.reason.permanent
    assert start.elapsed < 60


def test_other_names_fail_at_once_when_the_log_says_that_the_server_is_up() -> None:
    start = Start(listed=models("llama"), ready_at=10).log(10, UP)
    outcome = start.run()
    assert outcome.reason is not None
    assert outcome.reason.kind == "names"
    assert start.elapsed < 11


def test_another_server_that_leaves_the_port_in_time_does_no_harm() -> None:
    start = Start()

    def answer(request: Request) -> Answer:
        if 5 <= start.elapsed < 12:
            return {"/health": OK, "/v1/models": models("llama")}.get(request.path, OK)
        return Start.answer(start, request)

    start.client.answer = answer
    assert start.run().reason is None


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (NOT_FOUND, "base-path"),
        (Answer(kind="not-http", detail="SSH-2.0"), "not-http"),
        (Answer(kind="status", status=502), "health-status"),
    ],
    ids=["404", "not-http", "502"],
)
def test_a_wrong_answer_that_stands_fails_the_start(answer: Answer, kind: str) -> None:
    start = Start(before=answer, ready_at=1e9)
    outcome = start.run()
    assert outcome.reason is not None
    assert outcome.reason.kind == kind
    assert outcome.reason.permanent
    assert start.elapsed < 60


def test_a_wrong_answer_fails_at_once_when_the_log_says_that_the_server_is_up() -> None:
    start = Start(before=NOT_FOUND, ready_at=1e9).log(10, UP)
    outcome = start.run()
    assert outcome.reason is not None
    assert outcome.reason.kind == "base-path"
    assert start.elapsed < 12


def test_a_server_that_is_up_but_cannot_be_reached_fails_the_start() -> None:
    start = Start(before=RESET, ready_at=1e9).log(20, UP)
    outcome = start.run()
    assert outcome.reason is not None
    assert outcome.reason.kind == "address"
    assert start.elapsed < 60


def test_another_key_lets_the_start_through_with_a_note() -> None:
    start = Start(listed=UNAUTHORIZED)
    outcome = start.run()
    assert outcome.reason is None
    assert "the key differs" in outcome.note
    assert "the key differs" in start.notifier.statuses[-1]


def test_a_rotated_key_is_looked_up_where_the_server_has_it() -> None:
    start = Start(keys=("new", "old"), ready_at=0)
    start.client.answer = lambda request: (
        UNAUTHORIZED if request.key == "new" else Start.answer(start, request)
    )
    outcome = start.run()
    assert outcome.reason is None
    assert outcome.note == ""
    assert [(r.path, r.key) for r in start.client.requests[-3:]] == [
        ("/v1/models", "new"),
        ("/v1/models", "old"),
        ("/v1/completions", "old"),
    ]


@pytest.mark.parametrize(
    ("work", "fails"),
    [
        (Answer(kind="status", status=400, body=b'{"error":{"message":"no completions"}}'), False),
        (NOT_FOUND, False),
        (Answer(kind="status", status=500), True),
        (RESET, True),
    ],
    ids=["400", "404", "500", "reset"],
)
def test_a_warm_up_that_is_refused_is_noted_and_one_that_breaks_fails(work: Answer, fails: bool) -> None:
    start = Start(work=work)
    outcome = start.run()
    assert (outcome.reason is not None) == fails
    assert fails or "the warm-up was refused" in outcome.note


def test_a_stuck_warm_up_ends_with_the_stall_timeout() -> None:
    start = Start(work=TIMEOUT)
    outcome = start.run()
    assert outcome.reason is not None
    assert outcome.reason.kind in {"warm-up", "stall-timeout"}
    assert start.elapsed == pytest.approx(150, abs=2)


def test_a_stall_says_what_was_last_seen() -> None:
    start = Start(ready_at=1e9).log(10, "Loading safetensors checkpoint shards:  42% Completed | 8/19 [0")
    outcome = start.run()
    assert outcome.reason is not None
    assert outcome.reason.kind == "stall-timeout"
    assert "loading weights 42 % (8/19)" in outcome.reason.what
    assert not outcome.reason.permanent
    assert start.elapsed == pytest.approx(130, abs=2)


def test_a_download_of_forty_minutes_is_progress() -> None:
    budgets = Budgets(startup_timeout=7200, stall_timeout=120)
    start = Start(
        probe_file(budgets=budgets), ready_at=2400, traffic=lambda s: Traffic(network=int(s * 100_000))
    )
    assert start.run().reason is None
    assert any("receiving 0.1 MB/s" in text for text in start.notifier.statuses)


@pytest.mark.parametrize(
    "traffic",
    [lambda s: Traffic(network=int(s * 5_000)), lambda _: Traffic(network=10**9, disk=10**9, caches=10**9)],
    ids=["the-gates-own-questions", "all-before-the-start"],
)
def test_a_few_bytes_are_no_progress(traffic: Callable[[float], Traffic]) -> None:
    start = Start(ready_at=1e9, traffic=traffic)
    outcome = start.run()
    assert outcome.reason is not None
    assert outcome.reason.kind == "stall-timeout"


def test_progress_does_not_outlast_the_startup_timeout() -> None:
    start = Start(ready_at=1e9, traffic=lambda s: Traffic(caches=int(s * 1e7)))
    outcome = start.run()
    assert outcome.reason is not None
    assert outcome.reason.kind == "startup-timeout"
    assert start.elapsed == pytest.approx(600, abs=2)


def test_systemds_timeout_is_extended_while_there_is_progress_and_no_longer() -> None:
    start = Start(ready_at=1e9)
    start.run()
    times = [m for m in start.notifier.sent if m.startswith("EXTEND_TIMEOUT_USEC=")]
    assert times[0] == "EXTEND_TIMEOUT_USEC=60000000"
    assert len(times) == 12, "one in 10 s, for 120 s"


def test_the_status_shows_phase_percent_and_time_and_the_journal_a_line_a_phase() -> None:
    start = Start(ready_at=80)
    start.log(5, "INFO non-default args: {}", "INFO Starting to load model m")
    for percent in range(0, 100, 10):
        start.log(
            10 + percent / 2,
            f"Loading safetensors checkpoint shards:  {percent}% Completed | {percent}/100 [",
        )
    outcome = start.run()
    assert "loading weights 90 % (90/100), 1m12s" in start.notifier.statuses
    assert start.said == [
        "arguments accepted, after 5s",
        "opening the model, after 5s",
        "loading weights, after 10s",
        "warming up, after 1m20s",
        "serving qwen, after 1m20s",
    ]
    assert outcome.phases == pytest.approx(
        {"container": 5.0, "arguments": 0.0, "model": 5.0, "weights": 70.0, "warm-up": 0.0}, abs=0.3
    )


def test_a_journal_that_cannot_be_read_is_told_once() -> None:
    start = Start(ready_at=300, readable=False, file=probe_file(budgets=Budgets(stall_timeout=600)))
    assert start.run().reason is None
    assert sum("journal" in text for text in start.said) == 1


def test_readiness_is_looked_for_often() -> None:
    start = Start(ready_at=60)
    start.run()
    assert start.elapsed - 60 <= 0.3
    assert len(start.client.requests) < 60 * 10
