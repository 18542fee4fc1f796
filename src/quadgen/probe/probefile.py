"""The probe file: what gate and watch know about one service, rendered beside its unit.

Lines that begin with `#` are comments: quadgen's header, by which it knows its own files. The file holds
names of secrets, never secrets. Its readers may be older or newer than the quadgen that wrote it, so it
carries a schema number, and a reader refuses what it does not know rather than guess.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from quadgen.errors import QuadgenError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = 1

Warmup: TypeAlias = Literal["completion", "embedding", "pooling", "classify", "score", "none"]
Pull: TypeAlias = Literal["always", "missing", "never", "newer"]


class ProbeFileError(QuadgenError):
    """The probe file is missing, damaged, or written for another quadgen."""


class Server(NamedTuple):
    """Where the model server answers, and as what.

    Args:
        url: Scheme, address and port as seen from the host: `http://127.0.0.1:8000`, `https://[::1]:8443`.
        uds: Host path of its Unix socket; the address in `url` then only fills the Host header.
        root_path: What `--root-path` was given, without a slash at its end.
        tls_ca: Host path of the certificate authority to trust instead of the system's.
        tls_insecure: Whether any certificate will do.
        host_header: Name to ask for, and to look for in the certificate, where the address is not it.
        names: Every served name that `/v1/models` must list.
        api_key_secret: Name of the Podman secret with the bearer key.
        warmup: The request that proves that the model answers.
    """

    url: str
    uds: str | None = None
    root_path: str = ""
    tls_ca: str | None = None
    tls_insecure: bool = False
    host_header: str | None = None
    names: tuple[str, ...] = ()
    api_key_secret: str | None = None
    warmup: Warmup = "completion"


class Budgets(NamedTuple):
    """How long things may take, all in seconds but `failures`.

    Args:
        startup_timeout: For one whole start, progress or not.
        stall_timeout: Without any progress while loading.
        wait_timeout: Before a start, for late devices, for the GPU's lock and for its memory, each.
        interval: Between two looks of the watch.
        failures: Looks in a row that must fail before a server counts as dead.
        hang_timeout: Without a token while requests are there.
    """

    startup_timeout: float = 3600
    stall_timeout: float = 600
    wait_timeout: float = 120
    interval: float = 15
    failures: int = 3
    hang_timeout: float = 120


class Needs(NamedTuple):
    """What must be there before the container can start.

    Args:
        image: Image reference.
        pull: Pull policy; only with `never` is a missing image an error.
        secrets: Names of Podman secrets.
        devices: CDI names, and host paths of devices.
        cdi_dirs: Folders in which Podman looks for CDI specs.
        binds: Host paths that are mounted.
        gpus: Ids of GPUs to lock while loading: index, UUID, `INDEX:MIG`, or `all`.
        gpu_memory: Share of each GPU's memory that must be free, as in `--gpu-memory-utilization`.
    """

    image: str = ""
    pull: Pull = "missing"
    secrets: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    cdi_dirs: tuple[str, ...] = ("/etc/cdi", "/run/cdi")
    binds: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    gpu_memory: float | None = None


class ProbeFile(NamedTuple):
    """Everything that gate and watch know about one service.

    Args:
        service: Name in the spec.
        unit: Its systemd unit, `NAME.service`.
        container: Name of its container.
        server: Where and as what it answers.
        budgets: How long things may take.
        needs: What must be there before a start.
        cache_paths: Host folders whose growth is progress: weights, compiled kernels.
        models: Model ids, for remedies.
        restart_attempts: Starts that systemd allows within the window; 0 means no limit.
        restart_window: Length of that window, in seconds.
        log_identifiers: Syslog identifiers of the container's own lines; empty takes every line of the unit.
    """

    service: str
    unit: str
    container: str
    server: Server
    budgets: Budgets = Budgets()
    needs: Needs = Needs()
    cache_paths: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    restart_attempts: int = 0
    restart_window: float = 0
    log_identifiers: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The text of the file: keys in kebab-case, in a fixed order, with a newline at the end."""
        table = {"schema": SCHEMA} | _kebab(self)
        return json.dumps(table, indent=2, ensure_ascii=False) + "\n"


def load(path: Path) -> ProbeFile:
    """Read a probe file.

    Raises:
        ProbeFileError: It cannot be read, or holds anything that this quadgen would not write.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ProbeFileError(f"{path}: {error.strerror}", "run `quadgen install` to write it anew") from error
    return parse(text, str(path))


def parse(text: str, place: str) -> ProbeFile:
    """Read the text of a probe file; `place` is named in errors.

    Raises:
        ProbeFileError: It holds anything that this quadgen would not write.
    """
    try:
        # JSON has no line of its own that begins so: within a text a line break is an escape.
        table = json.loads("\n".join(line for line in text.split("\n") if not line.startswith("#")))
    except ValueError as error:
        raise _damaged(place, f"it is not JSON ({error})") from error
    if not isinstance(table, dict):
        raise _damaged(place, "it is not a JSON object")
    schema = table.pop("schema", None)
    if schema != SCHEMA:
        raise ProbeFileError(
            f"{place}: schema is {schema!r}, this probe reads {SCHEMA}",
            "run `quadgen install`, which writes the file and the probe together",
        )
    loaded: ProbeFile = _section(ProbeFile, table, place, "")
    return loaded


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


# One row a type that a field may have: its annotation, what to call it, how to tell it.
_TYPES: dict[str, tuple[str, Any]] = {
    "str": ("text", lambda v: isinstance(v, str) and v != ""),
    "str | None": ("text or null", lambda v: v is None or (isinstance(v, str) and v != "")),
    "bool": ("true or false", lambda v: isinstance(v, bool)),
    "int": ("a whole number from 0", lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0),
    "float": ("a number from 0", _number),
    "float | None": ("a number from 0 or null", lambda v: v is None or _number(v)),
    "tuple[str, ...]": (
        "a list of texts",
        lambda v: isinstance(v, list) and all(isinstance(x, str) for x in v),
    ),
    "Warmup": ("one of " + ", ".join(get_args(Warmup)), lambda v: v in get_args(Warmup)),
    "Pull": ("one of " + ", ".join(get_args(Pull)), lambda v: v in get_args(Pull)),
}
_SECTIONS: dict[str, type] = {"Server": Server, "Budgets": Budgets, "Needs": Needs}
# Texts that may be empty; everywhere else an empty text is a damaged file.
_MAY_BE_EMPTY = {"root-path", "image"}


def _section(cls: Any, table: dict[str, Any], place: str, prefix: str) -> Any:
    rows = {name.replace("_", "-"): name for name in cls._fields}
    unknown = sorted(set(table) - set(rows))
    if unknown:
        raise _damaged(place, f"{prefix}{unknown[0]} is no key of schema {SCHEMA}")
    values: dict[str, Any] = {}
    for key, name in rows.items():
        if key in table:
            annotation = cls.__annotations__[name].__forward_arg__
            values[name] = _value(annotation, key, table[key], place, prefix)
        elif name not in cls._field_defaults:
            raise _damaged(place, f"{prefix}{key} is missing")
    return cls(**values)


def _value(annotation: str, key: str, value: Any, place: str, prefix: str) -> Any:
    if annotation in _SECTIONS:
        if not isinstance(value, dict):
            raise _damaged(place, f"{prefix}{key} is {value!r}, not a table")
        return _section(_SECTIONS[annotation], value, place, f"{prefix}{key}.")
    wanted, is_right = _TYPES[annotation]
    if not is_right(value) and not (value == "" and key in _MAY_BE_EMPTY):
        raise _damaged(place, f"{prefix}{key} is {value!r}, not {wanted}")
    return tuple(value) if isinstance(value, list) else value


def _damaged(place: str, what: str) -> ProbeFileError:
    return ProbeFileError(f"{place}: {what}", "run `quadgen install` to write it anew")


def _kebab(section: ProbeFile | Server | Budgets | Needs) -> dict[str, Any]:
    given = ((name.replace("_", "-"), value) for name, value in section._asdict().items())
    return {
        key: _kebab(value) if isinstance(value, Server | Budgets | Needs) else value for key, value in given
    }
