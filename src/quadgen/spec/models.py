"""The spec as it is after reading: frozen, checked, with every default filled in."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator

from quadgen.spec.mounts import FROZEN, Device, Gpus, Secrets, Volume
from quadgen.spec.names import (
    HostPath,
    Model,
    PodmanName,
    SecretName,
    ServiceName,
    Text,
    UnitName,
    VariableName,
)
from quadgen.spec.quantities import Listen, ListenAddress, Pids, Seconds, Size
from quadgen.spec.refusal import refuse, shown

T = TypeVar("T")


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _one_or_more(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _distinct(value: tuple[T, ...]) -> tuple[T, ...]:
    for index, item in enumerate(value):
        if item in value[:index]:
            refuse("twice", f"{shown(str(item))} stands here twice", "name it once")
    return value


def _option_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _option_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_option_value(inner) for inner in value]
    if isinstance(value, (str, bool, int, float)):
        return value
    refuse("bad-option-value", f"{value} is a date, which no option takes", "write it as text, in quotes")


def _variable_value(value: Any) -> str:
    if isinstance(value, bool):
        refuse(
            "bad-variable-value",
            f"{shown(value)} can mean several texts",
            'write the text that the program reads, in quotes: "1", "true", …',
        )
    if isinstance(value, (str, int, float)):
        return str(value)
    refuse("bad-variable-value", f"{shown(value)} is no text", "write the value in quotes")


def _raw_value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_raw_value(item) for item in value)
    if isinstance(value, (str, bool, int)):
        return value
    refuse(
        "bad-unit-value",
        f"{shown(value)} is no value of a unit file",
        "write text, a number, true, false or a list of them",
    )


def _words(value: Any) -> Any:
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        refuse(
            "bad-command",
            f"{shown(value)} is no list of words",
            'write it like ["/usr/bin/mkdir", "-p", "/srv/x"]',
        )
    return tuple(value)


def _program(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words[0].startswith("/"):
        refuse("relative-path", f"{shown(words[0])} is no absolute path", "write the program's path from /")
    return words


def _capability(name: str) -> str:
    plain = name.upper().removeprefix("CAP_")
    if not plain.replace("_", "").isalpha():
        refuse("bad-capability", f"{shown(name)} is no capability", "write its name, such as SYS_NICE")
    return plain


def _mapping_of_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: str(item) if type(item) is int else item for key, item in value.items()}
    return value


def _slice(name: str) -> str:
    if not name.endswith(".slice"):
        refuse("bad-slice", f"{shown(name)} is no slice", "write its full name, such as models.slice")
    return name


Tuple = BeforeValidator(_as_tuple)
OneOrMore = BeforeValidator(_one_or_more)
Distinct = AfterValidator(_distinct)
Raw = Annotated[Any, BeforeValidator(_raw_value)]
Section = dict[Text, Raw]
Command = Annotated[tuple[str, ...], BeforeValidator(_words)]


class Probe(BaseModel):
    """How a start is held until the model answers, and how a running one is judged.

    Attributes:
        mode: `container` runs the check inside the container, `off` leaves readiness to Podman.
        startup_timeout: Seconds from the start of the unit until the model must answer.
        interval: Seconds between two looks at a running model.
        timeout: Seconds that one look may take.
        failures: How many failed looks in a row make a model dead.
    """

    model_config = FROZEN
    mode: Literal["container", "off"] = "container"
    startup_timeout: Seconds = 3600
    interval: Seconds = 15
    timeout: Seconds = 30
    failures: Annotated[int, Field(ge=1, le=100)] = 4


class Restart(BaseModel):
    """What systemd does when the server ends.

    Attributes:
        attempts: Starts within the window, after which the unit stays failed.
        window: Seconds; by default as long as all attempts together can take.
        delay: Seconds before the first new start.
        max_delay: Seconds that the delay grows to, where systemd can (254).
    """

    model_config = FROZEN
    attempts: Annotated[int, Field(ge=1, le=1000)] = 10
    window: Seconds | None = None
    delay: Seconds = 10
    max_delay: Seconds = 300

    @model_validator(mode="after")
    def _delay_grows(self) -> Restart:
        if self.max_delay < self.delay:
            refuse(
                "bad-delay",
                f"max-delay ({self.max_delay} s) is below delay ({self.delay} s)",
                "raise it, or lower delay",
            )
        return self


class Quadlet(BaseModel):
    """The escape hatch: any other key, section by section, as the unit file has it."""

    model_config = FROZEN
    container: Annotated[Section, Field(alias="Container")] = {}
    unit: Annotated[Section, Field(alias="Unit")] = {}
    service: Annotated[Section, Field(alias="Service")] = {}
    install: Annotated[Section, Field(alias="Install")] = {}
    quadlet: Annotated[Section, Field(alias="Quadlet")] = {}

    def sections(self) -> dict[str, Section]:
        """The sections by their names in a unit file."""
        return {
            "Unit": self.unit,
            "Container": self.container,
            "Service": self.service,
            "Install": self.install,
            "Quadlet": self.quadlet,
        }


class Service(BaseModel):
    """One served model."""

    model_config = FROZEN
    name: ServiceName
    model: Model
    image: Text = "docker.io/vllm/vllm-openai:v0.33.0"
    vllm: Text | None = None
    command: Literal["serve", "launch render"] = "serve"
    revision: Text | None = None
    served_name: Annotated[tuple[Text, ...], OneOrMore, Distinct] = ()
    accelerator: Literal["nvidia", "amd", "intel", "none"] = "nvidia"
    gpus: Annotated[Gpus, OneOrMore] = ("all",)
    listen: Annotated[tuple[ListenAddress, ...], OneOrMore, Distinct] = (Listen("127.0.0.1", 8000),)
    api_key: SecretName | None = None
    hf_token: SecretName | None = None
    offline: bool = False
    lora: dict[PodmanName, Model] = {}

    serve: dict[str, Annotated[Any, BeforeValidator(_option_value)]] = {}
    env: dict[VariableName, Annotated[str, BeforeValidator(_variable_value)]] = {}
    env_file: Annotated[tuple[HostPath, ...], OneOrMore] = ()
    secrets: Secrets = {}

    volumes: Annotated[tuple[Volume, ...], Tuple] = ()
    devices: Annotated[tuple[Device, ...], Tuple, Distinct] = ()
    groups: Annotated[tuple[Text, ...], Tuple, Distinct] = ()
    network: Annotated[tuple[Text, ...], OneOrMore, Distinct] = ()
    entrypoint: Command | None = None
    shm_size: Size | None = None
    ipc: Literal["host"] | None = None
    labels: dict[Text, str] = {}
    ulimits: Annotated[dict[Text, Text], BeforeValidator(_mapping_of_text)] = {}
    sysctls: Annotated[dict[Text, Text], BeforeValidator(_mapping_of_text)] = {}
    capabilities: Annotated[tuple[Annotated[str, AfterValidator(_capability)], ...], Tuple, Distinct] = ()
    read_only: bool = False
    memory: Size | None = None
    pids: Pids | None = None
    pull: Literal["always", "missing", "never", "newer"] | None = None
    auto_update: Literal["registry", "local"] | None = None

    slice: Annotated[str, AfterValidator(_slice)] | None = None
    after: Annotated[tuple[UnitName, ...], Tuple, Distinct] = ()
    requires: Annotated[tuple[UnitName, ...], Tuple, Distinct] = ()
    pre_start: Annotated[tuple[Annotated[Command, AfterValidator(_program)], ...], Tuple] = ()
    start_on_boot: bool = True
    stop_timeout: Seconds | None = None
    probe: Probe = Probe()
    restart: Restart = Restart()
    quadlet: Quadlet = Quadlet()

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which the server offers the model."""
        given = self.served_name or self.serve.get("served-model-name") or self.model
        return (given,) if isinstance(given, str) else tuple(map(str, given))

    @property
    def host_network(self) -> bool:
        """Whether the server listens on the host's own network."""
        return self.network == ("host",)


class Companion(BaseModel):
    """A unit file beside the services, in Quadlet's own keys: a volume, a network or an image.

    Attributes:
        kind: `volume`, `network` or `image`.
        name: The unit file's name without its ending.
        sections: Section by section, keys and values as in a unit file.
    """

    model_config = FROZEN
    kind: Literal["volume", "network", "image"]
    name: ServiceName
    sections: dict[str, Section]


class Spec(BaseModel):
    """All that one file asks for."""

    model_config = FROZEN
    services: tuple[Service, ...]
    companions: tuple[Companion, ...] = ()
