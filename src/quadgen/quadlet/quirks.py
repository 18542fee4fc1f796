"""Where a Podman release reads a key in its own way: one row for each key of which that is known.

A row looks at one value at a time and says how it can go: by the key itself, or by the key's `PodmanArgs`
form. What can go neither way is refused. Each function names the releases that it is for; they were found in
Podman's sources, and run with generators built from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from quadgen.quadlet.encode import shown
from quadgen.quadlet.refusal import Refusal
from quadgen.quadlet.version import PodmanVersion

TRUE_WORDS = ("true", "yes", "on", "1")
FALSE_WORDS = ("false", "no", "off", "0")
_PORTS = r"\d+(-\d+)?(/udp|/tcp)?"
_NUMBER = r"0|[1-9]\d*"
# What systemd reads in a path of RequiresMountsFor=, where the generator writes the source as it is.
_PLAIN_PATH = r"[^ \t\"'\\$]*"


@dataclass(frozen=True, slots=True)
class Case:
    """What a row may look at beside the value.

    Args:
        count: How many values the key has in all.
        raw: The value is the user's text, with specifiers and variables still in it.
    """

    section: str
    key: str
    version: PodmanVersion
    count: int = 1
    raw: bool = False

    def older_than(self, major: int, minor: int, patch: int | None = None) -> bool:
        """Whether the target may be older than that release."""
        return self.version < PodmanVersion(major, minor, patch)


# True: the key can carry the value; False: its `PodmanArgs` form must.
Row: TypeAlias = Callable[[str, Case], bool]


def misread(value: str, case: Case, instead: str, remedy: str) -> Refusal:
    """A value that Podman takes without a word for something else."""
    return Refusal("misread-value", f"Podman would read {case.key}={value} as {instead}", remedy)


def too_old(what: str, case: Case, since: str, remedy: str = "") -> Refusal:
    """Something that the target does not have yet."""
    return Refusal(
        "podman-too-old",
        f"{what} needs Podman {since}; the target is {case.version}",
        remedy or f"leave it out, or use Podman {since} or newer",
    )


def boolean(value: str, case: Case) -> bool:
    """Any text that is no true word counts as false, in every release."""
    if value.lower() not in (*TRUE_WORDS, *FALSE_WORDS):
        raise misread(value, case, "false", f"write {case.key}=true or {case.key}=false")
    return True


def notify(value: str, case: Case) -> bool:
    """`healthy` is a word of the key from 5.0 on; Podman's flag has it from 4.7 on."""
    if value.lower() == "healthy":
        if case.older_than(4, 7):
            raise too_old(
                "Notify=healthy", case, "4.7", "leave it out: the start then ends when the container runs"
            )
        return not case.older_than(5, 0)
    if value.lower() not in (*TRUE_WORDS, *FALSE_WORDS):
        raise misread(value, case, "false", "write true, false or healthy")
    return True


def one_of(*words: str) -> Row:
    """The words of keys whose other values Podman only refuses at the start, or never looks at."""

    def row(value: str, case: Case) -> bool:
        if value not in words and not (case.raw and value.startswith(("%", "$"))):
            raise Refusal(
                "misread-value", f"{case.key} {shown(value)} is no value of it", f"write {' or '.join(words)}"
            )
        return True

    return row


def named_value(value: str, case: Case) -> bool:
    """A bare NAME was dropped before 5.6; Podman's flags always took one."""
    no_commas_before_5(value, case)
    name, separator, _ = value.partition("=")
    if not name:
        raise Refusal("misread-value", f"{case.key} {shown(value)} has no name", "write NAME=value")
    return bool(separator) or not case.older_than(5, 6)


def no_commas_before_5(value: str, case: Case) -> bool:
    """Before 5.0, `podman run` split the values of these flags at commas (and `--sysctl` it still does)."""
    splits = case.key == "Sysctl" or (
        case.key in ("AddDevice", "Annotation", "EnvironmentFile", "LogOpt") and case.older_than(5, 0)
    )
    if splits and ("," in value or '"' in value):
        raise Refusal(
            "misread-value",
            f"Podman {case.version} splits {case.key} {shown(value)} at commas and takes quotes away",
            "leave commas and double quotes out of it",
        )
    return True


def add_device(value: str, case: Case) -> bool:
    """A leading `-` means `if that path exists`, from 4.5.1 on; a CDI name is no path."""
    if value.startswith("-"):
        if not value.startswith("-/"):
            raise misread(
                value,
                case,
                f"optional, and leave it out, since {value[1:]!r} is no path",
                f"write {value[1:]}",
            )
        if case.older_than(4, 5, 1):
            raise too_old(f"AddDevice={value} with a leading `-`", case, "4.5.1", "write it without the `-`")
    return no_commas_before_5(value, case)


def environment_file(value: str, case: Case) -> bool:
    """4.4 takes a path that begins with a specifier for a relative one."""
    no_commas_before_5(value, case)
    return not (case.raw and value.startswith("%") and case.older_than(4, 5))


def expose_host_port(value: str, _: Case) -> bool:
    """The generator's pattern knows no protocols but tcp and udp, and fails the unit otherwise."""
    return bool(re.fullmatch(_PORTS, value))


def publish_port(value: str, case: Case) -> bool:
    """4.4 to 5.2 take the value apart, and know no variables and no protocols but tcp and udp."""
    if not case.older_than(5, 3):
        return True
    parts = re.sub(r"\[[^]]*\]", "", value).split(":")
    return len(parts) <= 3 and all(not part or re.fullmatch(_PORTS, part) for part in parts[-2:])


def tmpfs(value: str, case: Case) -> bool:
    """4.5 to 5.2 fail the unit at a second colon."""
    return value.count(":") <= 1 or not case.older_than(5, 3)


def ulimit(_: str, case: Case) -> bool:
    """4.7 to 4.9 keep the last one alone."""
    return case.count == 1 or not case.older_than(5, 0)


def image_tag(_: str, case: Case) -> bool:
    """5.2 keeps the last one alone."""
    return case.count == 1 or not case.older_than(5, 3)


def build_pull(_: str, case: Case) -> bool:
    """Until 5.3.1 flag and value were two words, which `podman build` misreads."""
    return not case.older_than(5, 3, 2)


def health_command(value: str, case: Case) -> bool:
    """Until 5.7 Podman splits the text of an array that begins with CMD at blanks."""
    if case.older_than(5, 8) and re.match(r'\[\s*"(CMD|NONE)"\s*[,\]]', value, re.IGNORECASE):
        raise misread(
            value,
            case,
            "text to split at blanks",
            'leave the leading "CMD" out: that means the same in every release',
        )
    return True


def entrypoint(value: str, _: Case) -> bool:
    """The empty value was lost in 5.3.0 to 5.8.1."""
    return bool(value)


def log_driver(value: str, case: Case) -> bool:
    """4.4 always passes `passthrough`; of a flag that is given twice Podman takes the last."""
    return bool(value) and not case.older_than(4, 5)


def image(value: str, case: Case) -> bool:
    """Other units are named as images from 4.8 (.image) and 5.2 (.build) on."""
    if value.endswith(".image") and case.older_than(4, 8):
        raise too_old(f"Image={value}, the name of a unit,", case, "4.8", "name the image itself")
    if value.endswith(".build") and case.older_than(5, 2):
        raise too_old(f"Image={value}, the name of a unit,", case, "5.2", "name the image itself")
    return True


def network(value: str, case: Case) -> bool:
    """Another container's network is named by its unit from 5.3 on."""
    if value.endswith(".container") and case.older_than(5, 3):
        raise too_old(f"Network={value}", case, "5.3", "write container:NAME")
    return True


def number(value: str, case: Case) -> bool:
    """Anything but digits becomes 0, and a leading 0 means octal."""
    if not re.fullmatch(_NUMBER, value):
        raise misread(value, case, "another number", "write the number in decimal digits")
    return True


def volume(value: str, case: Case) -> bool:
    """The generator writes an absolute source into RequiresMountsFor= as it is, where systemd splits it."""
    source = mount_source(case.key, value)
    if source.startswith(".") and case.older_than(4, 5):
        raise too_old(f"Volume={value} with a relative source", case, "4.5", "write an absolute path")
    return mountable(source)


def mount(value: str, case: Case) -> bool:
    """4.5 to 4.7 panic at `ro` without `=`, 4.8 to 5.6 at a mount without source, which 5.7 refuses."""
    parameters = _parameters(value)
    pairs = dict(parameter.partition("=")[::2] for parameter in parameters)
    kind = pairs.get("type", "volume")
    source = mount_source(case.key, value)
    fits = '"' not in value and "type" in pairs and all(parameter.count("=") == 1 for parameter in parameters)
    if case.older_than(4, 5) or (case.older_than(4, 8) and not fits):
        return by_flag(value, source, case)
    if kind in ("volume", "bind", "glob", "image") and not source:
        if kind != "volume":
            raise Refusal("misread-value", f"Mount={value} has no source", "add source=…")
        return False
    return mountable(source) or by_flag(value, source, case)


def mount_source(key: str, value: str) -> str:
    """What a value of Volume or Mount brings into the container; empty where it names nothing."""
    if key == "Volume":
        return value.partition(":")[0] if ":" in value else ""
    if key == "Mount":
        pairs = dict(parameter.partition("=")[::2] for parameter in _parameters(value))
        return pairs.get("source", pairs.get("src", ""))
    return ""


def _parameters(value: str) -> list[str]:
    if '"' not in value:
        return value.split(",")
    import csv  # noqa: PLC0415  for the rare quotes only

    try:
        return next(csv.reader([value], strict=True))
    except csv.Error as error:
        raise Refusal(
            "misread-value",
            f"Mount={shown(value)} has quotes that Podman cannot read: {error}",
            "quote as in CSV",
        ) from error


def mountable(source: str) -> bool:
    """Whether systemd finds the source in RequiresMountsFor= as the generator writes it."""
    return not source.startswith("/") or bool(re.fullmatch(_PLAIN_PATH, source))


def by_flag(value: str, source: str, case: Case) -> bool:
    """Podman itself knows neither the names of units nor the folder that a relative source starts from."""
    if source.endswith((".volume", ".image")) or source.startswith("."):
        raise Refusal(
            "misread-value",
            f"Podman {case.version} cannot take {case.key}={shown(value)}",
            "write each parameter as name=value, without quotes (ro=true for ro)",
        )
    return False


def podman_args(value: str, case: Case) -> bool:
    """A flag with its value after a blank in the same quotes is one unknown flag."""
    if found := re.match(r"(--[a-z0-9-]+) ", value):
        raise misread(shown(value), case, "one flag of that name", f'write "{found[1]}=…", or two words')
    return True


ROWS: Mapping[tuple[str, str], Row] = {
    ("Container", "AddDevice"): add_device,
    ("Container", "Annotation"): named_value,
    ("Container", "AutoUpdate"): one_of("registry", "local"),
    ("Container", "Entrypoint"): entrypoint,
    ("Container", "Environment"): named_value,
    ("Container", "EnvironmentFile"): environment_file,
    ("Container", "ExposeHostPort"): expose_host_port,
    ("Container", "HealthCmd"): health_command,
    # `restart` would start the container behind systemd's back (podman#17777).
    ("Container", "HealthOnFailure"): one_of("kill", "stop", "none"),
    ("Container", "HealthStartupCmd"): health_command,
    ("Container", "Image"): image,
    ("Container", "Label"): named_value,
    ("Container", "LogDriver"): log_driver,
    ("Container", "LogOpt"): no_commas_before_5,
    ("Container", "Mount"): mount,
    ("Container", "Network"): network,
    ("Container", "Notify"): notify,
    ("Container", "PodmanArgs"): podman_args,
    ("Container", "PublishPort"): publish_port,
    ("Container", "Pull"): one_of("missing", "always", "never", "newer"),
    ("Container", "Sysctl"): no_commas_before_5,
    ("Container", "Tmpfs"): tmpfs,
    ("Container", "Ulimit"): ulimit,
    ("Container", "Volume"): volume,
    ("Volume", "Group"): number,
    ("Volume", "Label"): named_value,
    ("Volume", "User"): number,
    ("Network", "Label"): named_value,
    ("Network", "Options"): named_value,
    ("Pod", "Label"): named_value,
    ("Pod", "PublishPort"): publish_port,
    ("Pod", "Volume"): volume,
    ("Build", "Annotation"): named_value,
    ("Build", "BuildArg"): named_value,
    ("Build", "Environment"): named_value,
    ("Build", "ImageTag"): image_tag,
    ("Build", "Label"): named_value,
    ("Build", "Pull"): build_pull,
    ("Build", "Volume"): volume,
}


def key_carries(value: str, case: Case, *, is_bool: bool) -> bool:
    """Whether the key itself can carry the value for that Podman; else its `PodmanArgs` form must.

    Raises:
        Refusal: The value would be lost, misread, or take other units along.
    """
    if is_bool:
        return boolean(value, case)
    row = ROWS.get((case.section, case.key))
    return row(value, case) if row else True
