from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quadgen.probe.probefile import ProbeFile, ProbeFileError, Server, load
from quadgen.probe.started import copy_of, of_this_start

if TYPE_CHECKING:
    from pathlib import Path


def written(path: Path, port: int) -> None:
    server = Server(url=f"http://127.0.0.1:{port}")
    path.write_text(ProbeFile(service="a", unit="a.service", container="a", server=server).to_json())


def test_a_start_goes_by_the_file_that_it_began_with(tmp_path: Path) -> None:
    file, env = tmp_path / "a.probe", {"XDG_RUNTIME_DIR": str(tmp_path / "run")}

    def port(command: str) -> str:
        return of_this_start(command, file, load, env).server.url.rpartition(":")[2]

    written(file, 1)
    assert port("once") == "1"
    assert port("prestart") == "1"
    written(file, 2)
    assert [port(command) for command in ("gate", "watch", "once")] == ["1", "1", "1"]
    file.unlink()
    assert port("poststop") == "1"
    assert not copy_of(file, env).exists()
    written(file, 3)
    assert port("prestart") == "3"


def test_without_a_runtime_folder_the_installed_file_does(tmp_path: Path) -> None:
    file, env = tmp_path / "a.probe", {"XDG_RUNTIME_DIR": "/dev/null"}
    written(file, 1)
    for command in ("prestart", "gate", "poststop"):
        assert of_this_start(command, file, load, env).service == "a"


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProbeFileError):
        of_this_start("prestart", tmp_path / "none", load, {"XDG_RUNTIME_DIR": str(tmp_path)})
