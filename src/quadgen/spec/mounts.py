"""What a container gets from the host: volumes, GPUs, other devices, secrets."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from quadgen.spec.names import (
    _PODMAN_NAME,
    _VARIABLE,
    ContainerPath,
    PodmanName,
    SecretName,
    Text,
    expanded,
    one_line,
)
from quadgen.spec.refusal import refuse, shown

FROZEN = ConfigDict(
    frozen=True, extra="forbid", alias_generator=lambda name: name.replace("_", "-"), strict=True
)

# podman-run(1), --volume; what takes a value is written name=value.
_VOLUME_OPTIONS = frozenset(
    [
        "ro",
        "rw",
        "z",
        "Z",
        "U",
        "O",
        "copy",
        "nocopy",
        "dev",
        "nodev",
        "exec",
        "noexec",
        "suid",
        "nosuid",
        "bind",
        "rbind",
        "private",
        "rprivate",
        "shared",
        "rshared",
        "slave",
        "rslave",
        "unbindable",
        "runbindable",
        "idmap",
        "upperdir",
        "workdir",
    ]
)
_EXCLUSIVE = (
    ("ro", "rw"),
    ("z", "Z"),
    ("dev", "nodev"),
    ("exec", "noexec"),
    ("suid", "nosuid"),
    ("copy", "nocopy"),
)
# Relabelling these would lock the user or the system out of them.
# ruff: noqa: S108 - /tmp is named here, not used
_NEVER_RELABEL = ("/", "/etc", "/usr", "/var", "/home", "/root", "/boot", "/opt", "/srv", "/run", "/tmp")
_NEVER_RELABEL_IN_HOME = ("", ".ssh", ".cache", ".config", ".local", ".local/share", ".gnupg")


class VolumeMount(BaseModel):
    """One volume of a container.

    Attributes:
        source: An absolute host path, the name of a volume, or of a `.volume` unit.
        target: The path in the container.
        options: Podman's mount options, such as `ro`.
    """

    model_config = FROZEN
    source: str
    target: ContainerPath
    options: tuple[str, ...] = ()

    @property
    def bind(self) -> bool:
        """Whether the source is a path of the host."""
        return self.source.startswith("/")

    def __str__(self) -> str:
        return ":".join((self.source, self.target, *([",".join(self.options)] if self.options else [])))


def _volume(value: Any) -> Any:
    if isinstance(value, str):
        parts = one_line(value).split(":")
        if len(parts) not in (2, 3):
            refuse(
                "bad-volume",
                f"{shown(value)} is no volume",
                'write "SOURCE:TARGET" or "SOURCE:TARGET:OPTIONS", such as "/models:/models:ro"',
            )
        options = parts[2].split(",") if len(parts) == 3 else []
        value = {"source": parts[0], "target": parts[1], "options": options}
    if not isinstance(value, dict):
        return value
    return {**value, "options": tuple(value.get("options", ()))}


def _checked_volume(volume: VolumeMount) -> VolumeMount:
    source = _source(volume.source)
    for option in volume.options:
        if option.partition("=")[0] not in _VOLUME_OPTIONS:
            refuse(
                "bad-volume-option",
                f"{shown(option)} is no option of a volume",
                f"one of: {', '.join(sorted(_VOLUME_OPTIONS))}",
            )
    for pair in _EXCLUSIVE:
        if set(pair) <= set(volume.options):
            refuse("bad-volume-option", f"{' and '.join(pair)} exclude each other", "keep one of them")
    if {"z", "Z"} & set(volume.options) and _is_home_or_system(source):
        refuse(
            "relabel-of-shared-folder",
            f"z and Z relabel all of {shown(volume.source)}, which the host needs as it is",
            "mount a folder below it, or leave z and Z out",
        )
    return volume.model_copy(update={"source": source})


def _source(text: str) -> str:
    path = expanded(one_line(text))
    if path.startswith("/"):
        if ":" in path or ".." in PurePosixPath(path).parts:
            refuse(
                "bad-volume",
                f"{shown(text)} has ':' or '..' in it, which Podman splits or loses",
                "mount its parent",
            )
        return str(PurePosixPath("/" + path.lstrip("/")))
    if not _PODMAN_NAME.fullmatch(text):
        refuse(
            "relative-path",
            f"{shown(text)} is neither an absolute path nor the name of a volume",
            "write it from / or from ~/",
        )
    return text


def _is_home_or_system(source: str) -> bool:
    home = expanded("~")
    in_home = [str(PurePosixPath(home) / part) for part in _NEVER_RELABEL_IN_HOME]
    return source in _NEVER_RELABEL or source in in_home


_MIG = re.compile(r"\d+:\d+")
_UUID = re.compile(r"(GPU|MIG)-[0-9A-Za-z/-]+")
_CDI = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*=[A-Za-z0-9][A-Za-z0-9_.:-]*")


def _gpu(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return str(value)
    text = value if isinstance(value, str) else ""
    if text.isdigit() or text == "all" or any(kind.fullmatch(text) for kind in (_MIG, _UUID, _CDI)):
        return text
    refuse(
        "bad-gpu",
        f"{shown(value)} names no GPU",
        'write an index, a UUID ("GPU-…"), "0:1" for a MIG slice, "all", or a name like "nvidia.com/gpu=0"',
    )


def _gpus(value: tuple[str, ...]) -> tuple[str, ...]:
    doubles = sorted({gpu for gpu in value if value.count(gpu) > 1})
    if doubles:
        refuse("gpu-twice", f"GPU {doubles[0]} is named twice", "name each GPU once")
    if len(value) > 1 and any(gpu == "all" or gpu.endswith("=all") for gpu in value):
        refuse("gpu-twice", "`all` holds the other GPUs already", 'write ["all"], or the GPUs one by one')
    return value


def _device(text: str) -> str:
    path = one_line(text)
    if not (_CDI.fullmatch(path) or re.fullmatch(r"/[^:\s]+(:/[^:\s]+)?(:[rwm]{1,3})?", path)):
        refuse(
            "bad-device",
            f"{shown(text)} is no device",
            'write a path ("/dev/fuse", "/dev/a:/dev/b:rw") or a CDI name ("vendor.com/class=name")',
        )
    return text


def _mode(text: str) -> str:
    if not re.fullmatch(r"0?[0-7]{3}", text):
        refuse("bad-mode", f"{shown(text)} is no file mode", 'write it in octal, such as "0400"')
    return text


class SecretUse(BaseModel):
    """A Podman secret given to the container.

    Attributes:
        secret: The secret's name.
        type: `env` for a variable, `mount` for a file.
        target: The variable's name or the file's path; by default the key in the spec.
    """

    model_config = FROZEN
    secret: SecretName
    type: Literal["env", "mount"] = "env"
    target: Text | None = None
    uid: int | None = None
    gid: int | None = None
    mode: Annotated[str, AfterValidator(_mode)] | None = None

    def option(self, key: str) -> str:
        """The value of Secret= for it; `key` is its key in the spec."""
        parts = [self.secret, f"type={self.type}", f"target={self.target or key}"]
        parts += [
            f"{name}={getattr(self, name)}"
            for name in ("uid", "gid", "mode")
            if getattr(self, name) is not None
        ]
        return ",".join(parts)


def _secret(value: Any) -> Any:
    return {"secret": value} if isinstance(value, str) else value


def checked_secrets(secrets: dict[str, SecretUse]) -> dict[str, SecretUse]:
    """Refuse targets that no variable or file can have, and fields that a variable has no use for."""
    for key, use in secrets.items():
        target = use.target or key
        if use.type == "env" and not _VARIABLE.fullmatch(target):
            refuse(
                "bad-variable-name",
                f"{shown(target)} can't name an environment variable",
                'use type = "mount" for a file',
            )
        if use.type == "mount" and (not re.fullmatch(r"[^,\s]+", target)):
            refuse(
                "bad-secret-target", f"{shown(target)} has a comma or a blank in it", "choose another path"
            )
        if use.type == "env" and (use.uid, use.gid, use.mode) != (None, None, None):
            refuse(
                "bad-secret-field",
                "uid, gid and mode belong to a file",
                'set type = "mount", or leave them out',
            )
    return secrets


Gpu = Annotated[str, BeforeValidator(_gpu)]
Gpus = Annotated[tuple[Gpu, ...], AfterValidator(_gpus)]
Device = Annotated[str, AfterValidator(_device)]
Volume = Annotated[VolumeMount, BeforeValidator(_volume), AfterValidator(_checked_volume)]
Secret = Annotated[SecretUse, BeforeValidator(_secret)]
Secrets = Annotated[dict[str, Secret], AfterValidator(checked_secrets)]
__all__ = ["FROZEN", "Device", "Gpus", "PodmanName", "SecretUse", "Secrets", "Volume", "VolumeMount"]
