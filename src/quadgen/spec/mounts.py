"""What a container gets from the host: volumes, GPUs, other devices, secrets."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from quadgen.spec import schema
from quadgen.spec.names import (
    CONTAINER_PATH,
    PODMAN_NAME_PATTERN,
    SECRET_NAME,
    TEXT,
    VARIABLE_PATTERN,
    expanded,
    one_line,
)
from quadgen.spec.refusal import refuse, shown
from quadgen.spec.table import inside, key, table

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


@table
class VolumeMount:
    """One volume of a container."""

    source: str = key(schema.text(), "An absolute path of the host, or a volume, or its unit.")
    target: str = key(CONTAINER_PATH, "The absolute path in the container.")
    options: tuple[str, ...] = key(
        schema.several(schema.text()), "Podman's mount options, such as ro, Z or noexec.", default=()
    )

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
        return {"source": parts[0], "target": parts[1], "options": options}
    return value


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
    return replace(volume, source=source)


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
    if not re.fullmatch(PODMAN_NAME_PATTERN, text):
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


_MIG_PATTERN = r"\d+:\d+"
_UUID_PATTERN = r"(GPU|MIG)-[0-9A-Za-z/-]+"
_CDI_PATTERN = r"[A-Za-z0-9][A-Za-z0-9.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*=[A-Za-z0-9][A-Za-z0-9_.:-]*"


def _gpu(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return str(value)
    text = value if isinstance(value, str) else ""
    if (
        text.isdigit()
        or text == "all"
        or any(re.fullmatch(pattern, text) for pattern in (_MIG_PATTERN, _UUID_PATTERN, _CDI_PATTERN))
    ):
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
    if not (re.fullmatch(_CDI_PATTERN, path) or re.fullmatch(r"/[^:\s]+(:/[^:\s]+)?(:[rwm]{1,3})?", path)):
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


@table
class SecretUse:
    """A Podman secret given to the container."""

    secret: str = key(SECRET_NAME, "The secret's name, as `podman secret ls` shows it.")
    type: str = key(schema.choice("env", "mount"), "Given as a variable, or as a file.", default="env")
    target: str | None = key(
        TEXT, "The variable, or the file: a path, or a name below /run/secrets.", default=None
    )
    uid: int | None = key(schema.number(), "Owner of the file in the container.", default=None)
    gid: int | None = key(schema.number(), "Group of the file in the container.", default=None)
    mode: str | None = key(schema.text(_mode), "Mode of the file, in octal.", default=None)

    def option(self, name: str) -> str:
        """The value of Secret= for it; `name` is its key in the spec."""
        parts = [self.secret, f"type={self.type}", f"target={self.target or name}"]
        parts += [
            f"{field}={getattr(self, field)}"
            for field in ("uid", "gid", "mode")
            if getattr(self, field) is not None
        ]
        return ",".join(parts)


def _secret(value: Any) -> Any:
    return {"secret": value} if isinstance(value, str) else value


def _checked_secrets(secrets: dict[str, SecretUse]) -> dict[str, SecretUse]:
    """Refuse targets that no variable or file can have, and fields that a variable has no use for."""
    for name, use in secrets.items():
        target = use.target or name
        if use.type == "env" and not re.fullmatch(VARIABLE_PATTERN, target):
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


GPUS = schema.one_or_more(schema.checked(schema.several(schema.anything(_gpu, "integer", "string")), _gpus))
DEVICE = schema.text(_device)
VOLUME = schema.checked(schema.prepared(_volume, inside(VolumeMount), "string"), _checked_volume)
SECRETS = schema.checked(
    schema.mapping(schema.text(), schema.prepared(_secret, inside(SecretUse), "string")), _checked_secrets
)
