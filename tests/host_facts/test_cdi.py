from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from quadgen.host.cdi import read_cdi_specs, spec_folders

if TYPE_CHECKING:
    from pathlib import Path

NVIDIA = """---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  hooks:
  - args:
    - nvidia-cdi-hook
    - create-symlinks
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - hostPath: /dev/dri/card1
      name: not-a-device
      path: /dev/dri/card1
  name: "0"
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: GPU-5a0c9b1e-0000-1111-2222-333344445555
- containerEdits: {}
  name: all
kind: nvidia.com/gpu
"""
INDENTED = """
# by hand
cdiVersion: "0.6.0"
kind: "amd.com/gpu"   # comment
devices:
  - name: '0:1'   # MIG
    annotations:
      name: no
    containerEdits:
      env: ["name=no"]

  # between
  -   containerEdits:
        deviceNodes:
          - path: /dev/kfd
      name: all # every
containerEdits:
  env:
  - name: no
"""


def names(file: Path) -> tuple[str, ...] | None:
    (spec,) = read_cdi_specs([file.parent])
    assert spec.path == file
    return spec.devices if spec.names is not None else None


@pytest.mark.parametrize(
    ("name", "text", "devices"),
    [
        pytest.param(
            "nvidia.yaml",
            NVIDIA,
            (
                "nvidia.com/gpu=0",
                "nvidia.com/gpu=GPU-5a0c9b1e-0000-1111-2222-333344445555",
                "nvidia.com/gpu=all",
            ),
            id="nvidia-ctk",
        ),
        pytest.param("amd.yml", INDENTED, ("amd.com/gpu=0:1", "amd.com/gpu=all"), id="indented"),
        pytest.param(
            "a.json", json.dumps({"kind": "x.com/d", "devices": [{"name": "0"}]}), ("x.com/d=0",), id="json"
        ),
        pytest.param(
            "a.yaml",
            json.dumps({"kind": "x.com/d", "devices": [{"name": "0"}]}),
            ("x.com/d=0",),
            id="json-as-yaml",
        ),
        pytest.param("a.yaml", "kind: x.com/d\ndevices: []\n", (), id="no-devices"),
        pytest.param("a.yaml", "kind: x.com/d\ndevices:\n", (), id="devices-null"),
        pytest.param("a.yaml", "", (), id="empty"),
        pytest.param("a.json", '{"kind": "x.com/d", "devices": null}', (), id="json-null"),
        pytest.param("a.yaml", "kind: x\ndevices: [{name: a}]\n", None, id="flow-style"),
        pytest.param("a.yaml", "kind: x\ndevices:\n- &a\n  name: b\n- <<: *a\n", None, id="anchors"),
        pytest.param("a.yaml", "devices:\n- name: a\n", None, id="no-kind"),
        pytest.param("a.json", "{", None, id="broken-json"),
        pytest.param("a.json", '{"kind": "x", "devices": 3}', None, id="wrong-json"),
    ],
)
def test_names_are_read_exactly_or_not_at_all(
    tmp_path: Path, name: str, text: str, devices: tuple[str, ...] | None
) -> None:
    (tmp_path / name).write_text(text)
    assert names(tmp_path / name) == devices


def test_bytes_that_are_not_utf8_are_a_problem_of_that_spec(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff")
    (tmp_path / "b.json").write_text('{"kind": "x", "devices": [{"name": "0"}]}')
    (tmp_path / "README").write_text("no spec")
    bad, good = read_cdi_specs([tmp_path, tmp_path / "not-there"])
    assert bad.names is None
    assert bad.problem.startswith("unreadable")
    assert good.devices == ("x=0",)


def test_a_spec_that_this_user_may_not_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(NVIDIA)

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(file), "read_text", refuse)  # root, who may run this, reads everything
    (spec,) = read_cdi_specs([tmp_path])
    assert spec.denied
    assert spec.names is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, ("R/etc/cdi", "R/var/run/cdi"), id="default"),
        pytest.param(
            {"R/etc/containers/containers.conf": '[engine]\ncdi_spec_dirs = ["/a"]\n'}, ("/a",), id="system"
        ),
        pytest.param(
            {
                "R/etc/containers/containers.conf": '[engine]\ncdi_spec_dirs = ["/a"]\n',
                "C/containers/containers.conf": '[engine]\ncdi_spec_dirs = ["/b", "/c"]\n',
                "R/usr/share/containers/containers.conf": '[engine]\n# cdi_spec_dirs = ["/d"]\n',
            },
            ("/b", "/c"),
            id="user-wins",
        ),
        pytest.param(
            {"C/containers/containers.conf.d/50-cdi.conf": '[engine]\ncdi_spec_dirs = ["/e"]\n'},
            ("/e",),
            id="drop-in",
        ),
        pytest.param(
            {"C/containers/containers.conf": "cdi_spec_dirs = ["}, ("R/etc/cdi", "R/var/run/cdi"), id="broken"
        ),
        pytest.param(
            {"C/containers/containers.conf": "[engine]\ncdi_spec_dirs = 3\n"},
            ("R/etc/cdi", "R/var/run/cdi"),
            id="wrong-type",
        ),
    ],
)
def test_folders_follow_containers_conf(
    tmp_path: Path, files: dict[str, str], expected: tuple[str, ...]
) -> None:
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found = spec_folders(tmp_path / "C", root=tmp_path / "R")
    assert (
        tuple(os.path.relpath(f, tmp_path) if f.is_relative_to(tmp_path) else str(f) for f in found)
        == expected
    )
