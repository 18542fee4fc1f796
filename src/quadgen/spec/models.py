"""The spec as it is after reading: frozen, checked, with every default filled in.

A key of the spec is one row here. A new one needs its attribute, what it takes (a kind of names.py,
quantities.py, mounts.py or values.py, or a function of schema.py), and a line for the reference.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, NamedTuple

from quadgen.spec import schema, values
from quadgen.spec.mounts import DEVICE, GPUS, SECRETS, VOLUME, SecretUse, VolumeMount
from quadgen.spec.names import (
    HOST_PATH,
    MODEL,
    PODMAN_NAME,
    SECRET_NAME,
    SERVICE_NAME,
    TEXT,
    UNIT_NAME,
    VARIABLE_NAME,
)
from quadgen.spec.quantities import LISTEN, PIDS, SECONDS, SIZE, Listen
from quadgen.spec.refusal import refuse
from quadgen.spec.table import header, inside, key, table


@table
class Probe:
    """How a start is held until the model answers, and how a running model is judged."""

    mode: str = key(
        schema.choice("host", "container", "off"),
        "Who looks: gate and watch on the host, a check inside the container, or nobody.",
        default="host",
    )
    startup_timeout: int = key(
        SECONDS, "Time from the container's start until the model must answer.", default=3600
    )
    stall_timeout: int = key(SECONDS, "Time that a loading model may go without any progress.", default=600)
    hang_timeout: int = key(SECONDS, "Time without a token while requests wait for one.", default=120)
    wait_timeout: int = key(
        SECONDS, "Time that a start waits for late devices, and for the memory of its GPUs.", default=120
    )
    warmup: bool = key(schema.flag(), "Whether a request for one token ends the start.", default=True)
    interval: int = key(SECONDS, "Time between two looks at a running model.", default=15)
    timeout: int = key(SECONDS, "Time that one look inside the container may take.", default=30)
    failures: int = key(
        schema.number(least=1, most=100),
        "Failed looks in a row after which the model counts as dead and is started anew.",
        default=4,
    )
    tls_ca: str | None = key(
        HOST_PATH, "Certificate authority to trust; without one every certificate will do.", default=None
    )
    tls_name: str | None = key(TEXT, "Name in the certificate, where it is not the address.", default=None)


@table
class Restart:
    """What systemd does when the server ends."""

    attempts: int = key(
        schema.number(least=1, most=1000),
        "Starts within the window, after which the unit stays failed.",
        default=10,
    )
    window: int | None = key(
        SECONDS, "Time in which starts count; by default as long as all attempts can take.", default=None
    )
    delay: int = key(SECONDS, "Time before the first new start.", default=10)
    max_delay: int = key(SECONDS, "Time that the delay grows to, with systemd 254 or newer.", default=300)

    def __post_init__(self) -> None:
        if self.max_delay < self.delay:
            refuse(
                "bad-delay",
                f"max-delay ({self.max_delay} s) is below delay ({self.delay} s)",
                "raise it, or lower delay",
            )


@table
class Quadlet:
    """The escape hatch: any other key, section by section, as the unit file has it."""

    container: dict[str, Any] = key(
        values.SECTION, "Keys of [Container]: podman-systemd.unit(5).", factory=dict, alias="Container"
    )
    unit: dict[str, Any] = key(values.SECTION, "Keys of [Unit]: systemd.unit(5).", factory=dict, alias="Unit")
    service: dict[str, Any] = key(
        values.SECTION,
        "Keys of [Service]: systemd.service(5), systemd.exec(5), systemd.resource-control(5).",
        factory=dict,
        alias="Service",
    )
    install: dict[str, Any] = key(
        values.SECTION, "Keys of [Install]: what pulls the service in.", factory=dict, alias="Install"
    )
    quadlet: dict[str, Any] = key(
        values.SECTION, "Keys of [Quadlet], which Podman has from 5.3 on.", factory=dict, alias="Quadlet"
    )

    def sections(self) -> dict[str, dict[str, Any]]:
        """The sections by their names in a unit file."""
        return {
            "Unit": self.unit,
            "Container": self.container,
            "Service": self.service,
            "Install": self.install,
            "Quadlet": self.quadlet,
        }


@table
class Service:
    """One served model."""

    name: str = header(SERVICE_NAME, "Name of the unit and of the container.")

    # What is served
    model: str = key(MODEL, "A hub id, or an absolute path of the host, mounted read-only at the same path.")
    image: str = key(
        TEXT,
        "The container image with its registry, or an image unit such as vllm.image.",
        default="docker.io/vllm/vllm-openai:v0.33.0",
    )
    vllm: str | None = key(
        TEXT, "The vLLM release in the image; by default as the image's tag says.", default=None
    )
    command: str = key(
        schema.choice("serve", "launch render"),
        "What runs: the server, or its front for preprocessing alone, which needs no GPU.",
        default="serve",
    )
    revision: str | None = key(TEXT, "Branch, tag or commit of the model on the hub.", default=None)
    served_name: tuple[str, ...] = key(
        schema.one_or_more(schema.distinct(TEXT)),
        "Names by which clients call the model; by default the value of model.",
        default=(),
    )
    lora: dict[str, str] = key(
        schema.mapping(PODMAN_NAME, MODEL),
        "LoRA adapters: each name with a hub id or an absolute path, which is mounted.",
        factory=dict,
    )
    offline: bool = key(
        schema.flag(), "Fetch neither models nor images; both must be there already.", default=False
    )
    serve: dict[str, Any] = key(
        schema.mapping(schema.text(), values.OPTION),
        "Options of `vllm serve`, by their own names without the dashes.",
        factory=dict,
    )

    # Where it is reached
    listen: tuple[Listen, ...] = key(
        schema.one_or_more(schema.distinct(LISTEN)),
        "Addresses of the host with their ports; port 0 lets Podman pick one, [] publishes none.",
        default=(Listen("127.0.0.1", 8000),),
    )
    api_key: str | None = key(
        SECRET_NAME, "Name of the Podman secret with the key that clients must send.", default=None
    )
    network: tuple[str, ...] = key(
        schema.one_or_more(schema.distinct(TEXT)),
        "host, none, or the names or units of networks; by default Podman's own.",
        default=(),
    )

    # GPUs and devices
    accelerator: str = key(
        schema.choice("nvidia", "amd", "intel", "none"),
        "Whose GPUs they are, which decides how gpus become devices.",
        default="nvidia",
    )
    gpus: tuple[str, ...] = key(
        GPUS,
        'Indexes, UUIDs, "0:1" for a MIG slice, "all", or CDI names; [] gives the service no GPU.',
        default=("all",),
    )
    devices: tuple[str, ...] = key(schema.distinct(DEVICE), "Other devices, by path or CDI name.", default=())
    groups: tuple[str, ...] = key(
        schema.distinct(TEXT), "Further groups; keep-groups alone keeps those of the user.", default=()
    )

    # Files, secrets, environment
    volumes: tuple[VolumeMount, ...] = key(
        schema.several(VOLUME), 'Volumes, as "SOURCE:TARGET:OPTIONS" or as tables.', default=()
    )
    env: dict[str, str] = key(
        schema.mapping(VARIABLE_NAME, values.VARIABLE),
        "Variables inside the container. Not for secrets: the unit file shows them.",
        factory=dict,
    )
    env_file: tuple[str, ...] = key(
        schema.one_or_more(schema.several(HOST_PATH)),
        "Files of NAME=value lines, read whenever the container starts.",
        default=(),
    )
    hf_token: str | None = key(
        SECRET_NAME, "Name of the Podman secret with the Hugging Face token.", default=None
    )
    secrets: dict[str, SecretUse] = key(
        SECRETS, "Podman secrets for the container, by the variable or file that each becomes.", factory=dict
    )
    entrypoint: tuple[str, ...] | None = key(
        values.COMMAND, "Words that replace the image's entrypoint; model and options follow.", default=None
    )
    labels: dict[str, str] = key(
        schema.mapping(TEXT, schema.text()), "Labels of the container.", factory=dict
    )

    # Limits and rights
    shm_size: str | None = key(
        SIZE, "Size of /dev/shm; by default 1g for one GPU and 16g for several.", default=None
    )
    ipc: str | None = key(
        schema.choice("host"), "Share the host's memory segments, in place of shm-size.", default=None
    )
    memory: str | None = key(SIZE, "Limit of main memory.", default=None)
    pids: int | None = key(PIDS, "Limit of processes and threads; by default none, written -1.", default=None)
    ulimits: dict[str, str] = key(
        schema.mapping(TEXT, values.TEXT_OR_NUMBER),
        'Limits of ulimit(1), such as memlock = -1 or nofile = "65536:65536".',
        factory=dict,
    )
    sysctls: dict[str, str] = key(
        schema.mapping(TEXT, values.TEXT_OR_NUMBER), "Kernel settings inside the container.", factory=dict
    )
    capabilities: tuple[str, ...] = key(
        schema.distinct(values.CAPABILITY),
        "Capabilities that the container keeps, such as SYS_NICE; all others are dropped.",
        default=(),
    )
    read_only: bool = key(schema.flag(), "Mount the image read-only.", default=False)
    slice: str | None = key(
        values.SLICE, "The systemd slice that holds the service, such as models.slice.", default=None
    )

    # Starting, stopping, updating
    start_on_boot: bool = key(
        schema.flag(),
        "Start with the user manager: at boot with lingering, else at login.",
        default=True,
    )
    after: tuple[str, ...] = key(
        schema.distinct(UNIT_NAME), "Units of the same user to start after.", default=()
    )
    requires: tuple[str, ...] = key(
        schema.distinct(UNIT_NAME),
        "Units to start first, without which this fails.",
        default=(),
    )
    pre_start: tuple[tuple[str, ...], ...] = key(
        schema.several(values.PROGRAM),
        "Commands to run before the container, each a list of words; no shell reads them.",
        default=(),
    )
    stop_timeout: int | None = key(
        SECONDS, "Time that the server has to end; by default 10 s and what it drains.", default=None
    )
    pull: str | None = key(
        schema.choice("always", "missing", "never", "newer"),
        "When Podman fetches the image; by default when it is missing, and never when offline.",
        default=None,
    )
    auto_update: str | None = key(
        schema.choice("registry", "local"),
        "Where `podman auto-update` looks for a newer image; by default it leaves the service alone.",
        default=None,
    )
    probe: Probe = key(
        inside(Probe), "When a start counts, and when a running model counts as dead.", factory=Probe
    )
    restart: Restart = key(
        inside(Restart), "How often and how fast systemd starts the server anew.", factory=Restart
    )
    quadlet: Quadlet = key(
        inside(Quadlet), "Any other key of the unit file, by its section and own name.", factory=Quadlet
    )

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which the server offers the model."""
        given = self.served_name or self.serve.get("served-model-name") or self.model
        return (given,) if isinstance(given, str) else tuple(map(str, given))

    def brings(self, path: str) -> bool:
        """Whether one of the service's own volumes brings a path of the container."""
        return any(PurePosixPath(path).is_relative_to(volume.target) for volume in self.volumes)

    @property
    def host_network(self) -> bool:
        """Whether the server listens on the host's own network."""
        return self.network == ("host",)


@table
class Companion:
    """A unit file beside the services, in Quadlet's own keys: a volume, a network or an image."""

    kind: str = header(schema.choice("volume", "network", "image"), "Ending of the unit file.")
    name: str = header(SERVICE_NAME, "Name of the unit file without its ending.")
    sections: dict[str, dict[str, Any]] = header(
        schema.mapping(schema.text(), values.SECTION),
        "Section by section, keys and values as in a unit file.",
    )


class Spec(NamedTuple):
    """All that one file asks for."""

    services: tuple[Service, ...]
    companions: tuple[Companion, ...] = ()
