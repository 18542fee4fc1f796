"""Names and paths: of services, units, variables, secrets, folders."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from quadgen.spec import schema
from quadgen.spec.refusal import refuse, shown

# Podman takes these as names of containers, volumes, networks and secrets; systemd takes more.
PODMAN_NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
VARIABLE_PATTERN = r"[A-Za-z_][A-Za-z0-9_]*"
_UNIT_PATTERN = (
    r"[A-Za-z0-9:_.\\@-]+\.(service|socket|target|mount|automount|swap|path|timer|slice|scope|device"
    r"|container|volume|network|image|build|pod|kube)"
)
_SUFFIXES = (".service", ".container", ".volume", ".network", ".image", ".pod", ".build", ".kube", ".d")
_LONGEST_NAME = 200  # systemd allows 255 for a unit name, of which suffixes and prefixes need some


def one_line(text: str) -> str:
    """Refuse what can't stand on one line of a unit file."""
    if any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in text):
        refuse("control-character", f"{shown(text)} has a control character in it", "write it on one line")
    return text


def _filled(text: str) -> str:
    if not text.strip():
        refuse("empty", "the value is empty", "write a value, or leave the key out")
    if text != text.strip():
        refuse("outer-blank", f"{shown(text)} begins or ends with a blank", "remove the blank")
    return one_line(text)


def _service_name(name: str) -> str:
    if not re.fullmatch(PODMAN_NAME_PATTERN, name) or len(name) > _LONGEST_NAME:
        refuse(
            "bad-service-name",
            f"{shown(name)} can't name a systemd unit and a container",
            f"use letters, digits, '-', '_' and '.', at most {_LONGEST_NAME}, with a letter or digit first",
        )
    if name.endswith(_SUFFIXES):
        refuse(
            "bad-service-name",
            f"{shown(name)} ends like a unit file",
            f"leave the ending out: {name.rpartition('.')[0]}",
        )
    return name


def _podman_name(name: str) -> str:
    if not re.fullmatch(PODMAN_NAME_PATTERN, name):
        refuse(
            "bad-name",
            f"{shown(name)} is no name that Podman takes",
            "use letters, digits, '-', '_' and '.', with a letter or digit first",
        )
    return name


def _secret_name(name: str) -> str:
    # What stands here by mistake is the secret itself, so the message must not repeat it.
    if not re.fullmatch(PODMAN_NAME_PATTERN, name) or len(name) > 64:
        refuse(
            "bad-secret-name",
            "this is no name of a Podman secret",
            "store the value with `podman secret create NAME -` and write NAME here",
        )
    if name.startswith(("hf_", "sk-")) and len(name) > 16:
        refuse(
            "secret-in-plain-text",
            "this looks like the secret itself, not like its name",
            "store the value with `podman secret create NAME -` and write NAME here",
        )
    return name


def _variable(name: str) -> str:
    if not re.fullmatch(VARIABLE_PATTERN, name):
        refuse(
            "bad-variable-name",
            f"{shown(name)} can't name an environment variable",
            "use letters, digits and '_', with no digit first",
        )
    return name


def _unit_name(name: str) -> str:
    if not re.fullmatch(_UNIT_PATTERN, name):
        refuse(
            "bad-unit-name",
            f"{shown(name)} is no full name of a unit",
            "write it with its ending, such as mnt-models.mount or other.service",
        )
    return name


def expanded(text: str) -> str:
    """A host path with a leading `~` replaced by the user's home folder."""
    if text == "~" or text.startswith("~/"):
        return str(Path.home()) + text[1:]
    return text


def _host_path(text: str) -> str:
    path = expanded(_filled(text))
    if not path.startswith("/"):
        refuse("relative-path", f"{shown(text)} is a relative path", "write it from / or from ~/")
    return _clean(text, path)


def _container_path(text: str) -> str:
    if not _filled(text).startswith("/"):
        refuse(
            "relative-path",
            f"{shown(text)} is a relative path",
            "write the path inside the container, from /",
        )
    return _clean(text, text)


def _clean(text: str, path: str) -> str:
    if ".." in PurePosixPath(path).parts:
        refuse("path-with-dots", f"{shown(text)} goes up with '..'", "write the path that it leads to")
    return str(PurePosixPath("/" + path.lstrip("/")))


def _model(text: str) -> str:
    if text.startswith(("/", "~/")):
        return _host_path(text)
    if text.startswith(("vllm ", "serve ")):
        refuse(
            "vllm-serve",
            f"{shown(text)} holds the command, too",
            "write the model alone; `vllm serve` is in the image",
        )
    if " " in _filled(text) or text.startswith((".", "-")):
        refuse(
            "bad-model",
            f"{shown(text)} is no hub id and no absolute path",
            "write it like Qwen/Qwen3-0.6B or /models/mine",
        )
    return text


TEXT = schema.text(_filled)
SERVICE_NAME = schema.text(_service_name)
PODMAN_NAME = schema.text(_podman_name)
SECRET_NAME = schema.text(_secret_name)
VARIABLE_NAME = schema.text(_variable)
UNIT_NAME = schema.text(_unit_name)
HOST_PATH = schema.text(_host_path)
CONTAINER_PATH = schema.text(_container_path)
MODEL = schema.text(_model)
