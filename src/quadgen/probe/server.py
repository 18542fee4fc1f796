"""What the probe asks a vLLM server, and how it reads the answers.

`/health` is guarded by no key and answers 503 when the engine is dead; `/v1/models` is guarded; only a
completion proves that the engine works. A pooling model is asked for what it does instead.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from quadgen.probe.client import Answer, Client
    from quadgen.probe.probefile import ProbeFile
    from quadgen.probe.process import Runner

HEALTH, MODELS, METRICS = "/health", "/v1/models", "/metrics"

# The cheapest request that makes the engine work, by the kind of model: path, and what goes beside `model`.
_WORK: dict[str, tuple[str, dict[str, object]]] = {
    "completion": ("/v1/completions", {"prompt": "1", "max_tokens": 1, "temperature": 0}),
    "embedding": ("/v1/embeddings", {"input": "1"}),
    "pooling": ("/pooling", {"input": "1"}),
    "classify": ("/classify", {"input": "1"}),
    "score": ("/score", {"text_1": "1", "text_2": "1"}),
}


class Names(NamedTuple):
    """The served names that `/v1/models` lists.

    Args:
        listed: All of them, in its order, LoRA modules included.
        missing: Expected ones that are not among them.
    """

    listed: tuple[str, ...]
    missing: tuple[str, ...]


class ModelServer:
    """One service's server.

    Args:
        file: The service.
        client: What connects to it.
        keys: Sources of the bearer key, asked in turn, each at most once.
    """

    def __init__(self, file: ProbeFile, client: Client, keys: list[Callable[[], str | None]]) -> None:
        self._server = file.server
        self._client = client
        self._keys = list(keys)
        self._key: str | None = None

    @property
    def works(self) -> bool:
        """Whether there is a request that makes the engine work."""
        return self._server.warmup in _WORK

    def health(self, deadline: float) -> Answer:
        """Ask `/health`."""
        return self._get(HEALTH, deadline)

    def models(self, deadline: float) -> Answer:
        """Ask `/v1/models`."""
        return self._guarded("GET", MODELS, deadline, None)

    def metrics(self, deadline: float) -> Answer:
        """Ask `/metrics`."""
        return self._get(METRICS, deadline)

    def work(self, deadline: float) -> Answer:
        """Make the engine work for one token, or one embedding."""
        path, rest = _WORK[self._server.warmup]
        model = {"model": self._server.names[0]} if self._server.names else {}
        return self._guarded("POST", path, deadline, json.dumps(model | rest).encode())

    def names(self, answer: Answer) -> Names | None:
        """The names in an answer of `/v1/models`; None where it is no such list."""
        table = answer.json()
        rows = table.get("data") if isinstance(table, dict) else None
        if not isinstance(rows, list):
            return None
        listed = tuple(str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row)
        return Names(listed=listed, missing=tuple(n for n in self._server.names if n not in listed))

    def _get(self, path: str, deadline: float) -> Answer:
        return self._client.ask("GET", self._server.root_path + path, deadline=deadline)

    def _guarded(self, method: str, path: str, deadline: float, body: bytes | None) -> Answer:
        if self._key is None:
            self._key = self._next_key()
        while True:
            answer = self._client.ask(
                method, self._server.root_path + path, deadline=deadline, body=body, key=self._key
            )
            if answer.kind != "unauthorized" or not self._keys:
                return answer
            # A secret that was rotated since the start: the running server holds the old one.
            self._key = self._next_key() or self._key

    def _next_key(self) -> str | None:
        while self._keys:
            key = self._keys.pop(0)()
            if key:
                return key
        return None


def secret_key(runner: Runner, secret: str) -> str | None:
    """The key in a Podman secret (its owner may read it, from Podman 4.7); None where it cannot be had."""
    done = runner.run(
        ["podman", "secret", "inspect", "--showsecret", "--format", "{{.SecretData}}", secret], timeout=15
    )
    return done.stdout.strip() or None if done.status == 0 else None


def container_key(runner: Runner, container: str) -> str | None:
    """The key that the running server holds.

    It is right before Podman 4.7, which cannot show a secret, and after a secret's rotation: `podman exec`
    gives its own process the new value (measured), so the first process's environment is read.
    """
    done = runner.run(["podman", "exec", container, "cat", "/proc/1/environ"], timeout=15)
    if done.status != 0:
        return None
    rows = dict(row.partition("=")[::2] for row in done.stdout.split("\0"))
    return rows.get("VLLM_API_KEY", "").strip() or None


def key_sources(file: ProbeFile, runner: Runner) -> list[Callable[[], str | None]]:
    """Where a service's bearer key can be had, the cheapest first; none where it has no key."""
    secret = file.server.api_key_secret
    if secret is None:
        return []
    return [lambda: secret_key(runner, secret), lambda: container_key(runner, file.container)]
