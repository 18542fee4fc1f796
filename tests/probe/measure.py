"""Measures the probe against a stub server: run it, it prints figures.

`PYTHONPATH=src python tests/probe/measure.py [RUNS]`
"""

from __future__ import annotations

import dataclasses
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from probe_samples import probe_file
from stub_server import Behaviour, free_port, serving

from quadgen.probe.probefile import Budgets, Server

if TYPE_CHECKING:
    from quadgen.probe.probefile import ProbeFile

_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print every figure."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environ = _environ(place)
        _print(
            "from the first answer of /v1/models to the gate's end",
            [_ready(place, environ) for _ in range(runs)],
        )
        _print("from the container's death to the gate's end", [_death(place, environ) for _ in range(runs)])
        _waiting(place, environ)
        _watching(place, environ)


def _environ(place: Path) -> dict[str, str]:
    bin_folder = place / "bin"
    bin_folder.mkdir()
    for name, text in {
        "podman": "exit 0",
        "systemctl": f"cat {place}/unit",
        "journalctl": "exec sleep 600",
    }.items():
        (bin_folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin_folder / name).chmod(0o755)
    return {
        "PATH": f"{bin_folder}:/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "HOME": str(place),
        "XDG_STATE_HOME": str(place),
        "XDG_RUNTIME_DIR": str(place),
        "INVOCATION_ID": "aaa",
    }


def _file(place: Path, port: int, **budgets: float) -> str:
    server = Server(url=f"http://127.0.0.1:{port}", names=("qwen",), warmup="none")
    file: ProbeFile = dataclasses.replace(probe_file(), server=server, budgets=Budgets(**budgets))
    path = place / "vllm-a.json"
    path.write_text(file.to_json())
    return str(path)


def _start(command: str, path: str, environ: dict[str, str], main_pid: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "quadgen.probe", command, path],
        env=environ | {"MAINPID": str(main_pid)},
        stdout=subprocess.DEVNULL,
    )


def _ready(place: Path, environ: dict[str, str]) -> float:
    """As Podman's forwarder does it: nobody listens, then the server answers."""
    port = free_port()
    with subprocess.Popen(["/bin/sleep", "600"]) as main_process:
        gate = _start("gate", _file(place, port), environ, main_process.pid)
        time.sleep(1.5)
        with serving(Behaviour(), address=("127.0.0.1", port)):
            began = time.monotonic()
            gate.wait(60)
            seconds = time.monotonic() - began
        main_process.kill()
    return seconds


def _death(place: Path, environ: dict[str, str]) -> float:
    with subprocess.Popen(["/bin/sleep", "600"]) as main_process:
        gate = _start("gate", _file(place, free_port()), environ, main_process.pid)
        time.sleep(1.5)
        began = time.monotonic()
        main_process.kill()
        gate.wait(60)
        return time.monotonic() - began


def _waiting(place: Path, environ: dict[str, str]) -> None:
    with subprocess.Popen(["/bin/sleep", "600"]) as main_process:
        gate = _start("gate", _file(place, free_port()), environ, main_process.pid)
        time.sleep(3)
        before, memory = _cpu(gate.pid), _pss(gate.pid)
        time.sleep(30)
        _tell(f"gate while it waits: {(_cpu(gate.pid) - before) / 30:.2%} of a core, PSS {memory:.1f} MB")
        gate.send_signal(signal.SIGTERM)
        gate.wait(60)
        main_process.kill()


def _watching(place: Path, environ: dict[str, str]) -> None:
    series = "".join(
        f'vllm:x_{n}_bucket{{engine="0",le="{n}",model_name="qwen"}} {n}.0\n' for n in range(2000)
    )
    figures = 'vllm:prompt_tokens_total{engine="0"} 7.0\nvllm:generation_tokens_total{engine="0"} 5.0\n'
    behaviour = Behaviour(metrics=series + figures)
    with subprocess.Popen(["/bin/sleep", "600"]) as main_process, serving(behaviour) as ((_, port), _):
        unit = f"ActiveState=active\nSubState=running\nInvocationID=aaa\nMainPID={main_process.pid}\n"
        (place / "unit").write_text(unit)
        watch = _start("watch", _file(place, port, interval=0.5, hang_timeout=60), environ, main_process.pid)
        time.sleep(3)
        before, looks = _cpu(watch.pid), behaviour.asked.count("/health")
        time.sleep(30)
        looks = behaviour.asked.count("/health") - looks
        cost = (_cpu(watch.pid) - before) / looks * 1000
        _tell(f"watch: PSS {_pss(watch.pid):.1f} MB, {cost:.2f} ms of CPU time a look ({looks} looks)")
        watch.terminate()
        watch.wait(60)
        main_process.kill()


def _cpu(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / _TICKS


def _pss(pid: int) -> float:
    rows = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return int(rows["Pss"].split()[0]) / 1000


def _print(what: str, seconds: list[float]) -> None:
    median, late = statistics.median(seconds), sorted(seconds)[max(0, round(len(seconds) * 0.95) - 1)]
    _tell(f"{what}: median {median:.3f} s, 95th percentile {late:.3f} s, {len(seconds)} runs")


def _tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
