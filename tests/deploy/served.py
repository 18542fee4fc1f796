"""Installed services in a temporary home, for all tests of commands that look at them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from quadgen.probe.probefile import ProbeFile, Server
from quadgen.quadlet.header import stamp

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_800_000_000.0
UNIT = """\
[Container]
Image=docker.io/x/y:1
Exec=org/Model-7B --port 8000
PublishPort=127.0.0.1:8000:8000
"""


class Home:
    """One user's folders."""

    def __init__(self, top: Path) -> None:
        self.env = {
            "HOME": str(top),
            "XDG_CONFIG_HOME": str(top / "config"),
            "XDG_STATE_HOME": str(top / "state"),
            "XDG_RUNTIME_DIR": str(top / "run"),
        }
        self.base = top / "config/containers/systemd"
        self.folder = self.base / "quadgen"
        self.state = top / "state/quadgen/probe"

    def install(
        self, name: str, *, body: str = UNIT, probe: bool = True, flat: bool = False, **server: Any
    ) -> Path:
        """The unit file of a service, and its probe file beside it, as `quadgen install` writes them."""
        folder = self.base if flat else self.folder
        folder.mkdir(parents=True, exist_ok=True)
        unit = folder / f"{name}.container"
        unit.write_text(stamp(body, spec="/spec.toml", services=[name]))
        if probe:
            given = {"url": "http://127.0.0.1:8000", "names": ("qwen", "q")} | server
            file = ProbeFile(
                service=name,
                unit=f"{name}.service",
                container=name,
                server=Server(**given),
                models=("org/Model-7B",),
            )
            text = stamp(file.to_json(), spec="/spec.toml", services=[name])
            (folder / f"{name}.probe").write_text(text)
        return unit

    def history(self, name: str, *starts: dict[str, Any], **watch: Any) -> None:
        """What the probe wrote down."""
        folder = self.state / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "start.json").write_text(json.dumps({"starts": starts}))
        if watch:
            (folder / "watch.json").write_text(json.dumps(watch))


def shown(**changes: str) -> str:
    """What `systemctl show` prints of one unit."""
    given = {
        "Result": "success",
        "NRestarts": "0",
        "StatusText": "",
        "RestartUSec": "10s",
        "LoadState": "loaded",
        "ActiveState": "inactive",
        "SubState": "dead",
        "Job": "",
        "InvocationID": "",
        "NeedDaemonReload": "no",
        "InactiveExitTimestamp": "",
        "ActiveEnterTimestamp": "",
        "StateChangeTimestamp": "",
        "StartLimitBurst": "3",
        "StartLimitIntervalUSec": "1h",
    }
    return "".join(f"{key}={value}\n" for key, value in (given | changes).items())


RUNNING = {
    "ActiveState": "active",
    "SubState": "running",
    "InvocationID": "run2",
    "StatusText": "serving qwen",
    "InactiveExitTimestamp": f"@{int(NOW) - 4000}",
    "ActiveEnterTimestamp": f"@{int(NOW) - 3600}",
    "StateChangeTimestamp": f"@{int(NOW) - 3600}",
}
LOADING = {
    "ActiveState": "activating",
    "SubState": "start-post",
    "InvocationID": "run2",
    "Job": "7",
    "StatusText": "loading weights 42 % (8/19), 1m12s",
    "InactiveExitTimestamp": f"@{int(NOW) - 72}",
}
PAUSING = {
    "ActiveState": "activating",
    "SubState": "auto-restart",
    "Result": "exit-code",
    "InvocationID": "run2",
    "StateChangeTimestamp": f"@{int(NOW) - 4}",
}
FAILED = {
    "ActiveState": "failed",
    "SubState": "failed",
    "Result": "exit-code",
    "InvocationID": "run2",
    "StateChangeTimestamp": f"@{int(NOW) - 300}",
}
MISSING = {"LoadState": "not-found"}
MEMORY = {
    "kind": "gpu-memory",
    "what": "the GPU's memory is too small",
    "line": "torch.OutOfMemoryError: CUDA out of memory",
    "remedy": "lower gpu-memory-utilization",
    "permanent": False,
}


def blocks(*units: dict[str, str]) -> str:
    """What `systemctl show` prints of several units."""
    return "\n".join(shown(**unit) for unit in units)
