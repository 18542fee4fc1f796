"""Rendering: golden files, every Podman, the configurations that people really run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from quadgen.quadlet.container import command
from quadgen.quadlet.render import render
from quadgen.quadlet.target import Target
from quadgen.quadlet.version import SUPPORTED, PodmanVersion
from quadgen.spec import Source, load
from quadgen.spec.source import built_in
from quadgen.vllm.services import serving_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from quadgen.spec import Loaded

    from .conftest import Generator

CHECKOUT = Path(__file__).parents[2]
BUILT_IN = sorted(path.stem for path in (CHECKOUT / "quadlets").glob("*.toml"))
CONFIGURATIONS = sorted((CHECKOUT / "tests" / "spec" / "configurations").glob("*.toml"))
OLD_AND_NEW = (PodmanVersion(4, 4), PodmanVersion(5, 8))


def container(loaded: Loaded, target: Target | None = None) -> str:
    rendered = render(loaded.spec, target or Target(), "x")
    assert not rendered.findings
    (file,) = (file for file in rendered.files if file.name.endswith(".container"))
    return file.text


def lines(text: str, key: str) -> list[str]:
    return [line.removeprefix(f"{key}=") for line in text.splitlines() if line.startswith(f"{key}=")]


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_shipped_unit_files_are_what_is_rendered(name: str) -> None:
    loaded = load(built_in(name))
    for file in render(loaded.spec, Target(PodmanVersion(5, 4), standalone=True), loaded.source.label).files:
        assert (CHECKOUT / "quadlets" / file.name).read_text() == file.text
        assert str(CHECKOUT) not in file.text


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_services_render_for_every_podman(name: str, version: PodmanVersion) -> None:
    loaded = load(built_in(name))
    first, second = (render(loaded.spec, Target(version), loaded.source.label) for _ in range(2))
    assert first == second
    assert not first.findings
    assert [file.name for file in first.files] == [
        "quadgen-huggingface.volume",
        "vllm-qwen-cache.volume",
        "vllm-qwen.container",
        "vllm-qwen.probe",
    ]


@pytest.mark.parametrize("version", OLD_AND_NEW, ids=str)
@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_what_people_really_run_can_be_said(path: Path, version: PodmanVersion) -> None:
    loaded = load(Source(str(path), path))
    refused = {finding.code for finding in render(loaded.spec, Target(version), path.name).findings}
    # Image units came with 4.8.
    assert refused == ({"podman-too-old"} if path.stem.startswith("07") and version.major == 4 else set())


@pytest.mark.parametrize("version", OLD_AND_NEW, ids=str)
def test_the_built_in_service_is_the_one_that_was_promised(version: PodmanVersion) -> None:
    text = container(load(built_in("vllm-qwen")), Target(version))
    (command,) = lines(text, "Exec")
    assert command.startswith("Qwen/Qwen3.6-35B-A3B --host 0.0.0.0 --port 8000 ")
    for words in ("--kv-cache-dtype fp8", "--max-num-seqs 32", "dflash", "z-lab/Qwen3.6-35B-A3B-DFlash"):
        assert words in command
    assert lines(text, "AddDevice") == ["nvidia.com/gpu=0"]
    assert lines(text, "PublishPort") == ["127.0.0.1:8000:8000"]
    assert lines(text, "DropCapability") == ["all"]
    assert lines(text, "NoNewPrivileges") == ["true"]
    assert "VLLM_NO_USAGE_STATS=1" in text
    assert lines(text, "Restart") == ["always"]
    assert lines(text, "WantedBy") == ["default.target"]


MODEL = '[service.a]\nmodel = "org/m"\n'


@pytest.mark.parametrize(
    ("spec", "key", "expected"),
    [
        ("gpus = [1, 3]", "AddDevice", ["nvidia.com/gpu=1", "nvidia.com/gpu=3"]),
        ('gpus = "GPU-0aBc-1"', "AddDevice", ["nvidia.com/gpu=GPU-0aBc-1"]),
        ('gpus = ["0:1"]', "AddDevice", ["nvidia.com/gpu=0:1"]),
        ('gpus = ["example.com/gpu=x"]', "AddDevice", ["example.com/gpu=x"]),
        ("gpus = []", "AddDevice", []),
        ("gpus = []", "SecurityLabelDisable", []),
        ("gpus = [0]", "SecurityLabelDisable", ["true"]),
        ('accelerator = "none"', "AddDevice", []),
        ('accelerator = "amd"', "AddDevice", ["/dev/kfd", "/dev/dri"]),
        ('accelerator = "amd"', "GroupAdd", ["keep-groups"]),
        ('accelerator = "intel"', "AddDevice", ["/dev/dri"]),
        ('listen = ["127.0.0.1:0", "[::1]:8001"]', "PublishPort", ["127.0.0.1::8000", "[::1]:8001:8000"]),
        ('network = "host"\nlisten = "127.0.0.1:9000"', "PublishPort", []),
        ("serve.tensor-parallel-size = 2", "ShmSize", ["16g"]),
        ("serve.tensor-parallel-size = 1", "ShmSize", ["1g"]),
        ('shm-size = "512m"', "ShmSize", ["512m"]),
        ('ipc = "host"', "ShmSize", []),
        ('ipc = "host"', "PodmanArgs", ["--ipc=host"]),
        ("serve.shutdown-timeout = 60", "StopTimeout", ["70"]),
        ("serve.shutdown-timeout = 60", "TimeoutStopSec", ["100"]),
        ("stop-timeout = 5", "StopTimeout", ["5"]),
        ("pids = 100", "PidsLimit", ["100"]),
        ("offline = true", "Pull", ["never"]),
        ("offline = true", "DefaultDependencies", ["false"]),
        ("", "DefaultDependencies", []),
        ("start-on-boot = false", "WantedBy", []),
        ('api-key = "k"', "Secret", ["k,type=env,target=VLLM_API_KEY"]),
        ('secrets.HF_TOKEN = "t"', "Secret", ["t,type=env,target=HF_TOKEN"]),
        ('secrets."/run/k" = { secret = "k", type = "mount", mode = "0400" }', "Secret", ["k,type=mount,target=/run/k,mode=0400"]),
        ('labels.rule = "Host(`a`) && \\"b\\""', "Label", [r'"rule=Host(`a`) && \"b\""']),
        ('env.A = "100% $HOME"', "Environment", ['"A=100%% $$HOME"']),
        ('probe.mode = "off"\npre-start = [["/bin/echo", "", ";", "a b"]]', "ExecStartPre", ['/bin/echo "" ";" "a b"']),
        ('entrypoint = ["a b", "c"]', "Entrypoint", ['["a b", "c"]']),
        ('probe.mode = "off"', "HealthCmd", []),
        ('quadlet.Container.Timezone = "local"', "Timezone", ["local"]),
        ('quadlet.Container.LogDriver = "none"', "LogDriver", ["none"]),
        ("quadlet.Container.DropCapability = []", "DropCapability", []),
        ('quadlet.Service.Restart = "no"', "Restart", ["no"]),
        ('quadlet.Service.Environment = ["A=%h", "B=1"]', "Environment", ["A=%h", "B=1"]),
        ('after = ["mnt.mount"]\nrequires = ["b.service"]', "After", ["mnt.mount b.service"]),
        ("", "RestartSteps", []),
    ],
)  # fmt: skip
def test_keys_of_the_spec_become_keys_of_the_unit(
    load_text: Callable[[str], Loaded], spec: str, key: str, expected: list[str]
) -> None:
    text = container(load_text(MODEL + spec))
    found = lines(text, key)
    if key == "Environment":
        found = [line for line in found if line.strip('"').startswith(("A=", "B="))]
    assert found == expected


def test_a_local_model_is_mounted_read_only_at_its_own_path(load_text: Callable[[str], Loaded]) -> None:
    text = container(load_text('[service.a]\nmodel = "/models/my 7B"\n'))
    assert "/models/my 7B:/models/my 7B:ro" in text
    assert lines(text, "Exec")[0].startswith('"/models/my 7B" ')
    assert "huggingface" not in text


def test_a_volume_of_the_user_takes_the_place_of_a_cache(load_text: Callable[[str], Loaded]) -> None:
    loaded = load_text(MODEL + 'volumes = ["~/hf:/root/.cache/huggingface"]\n')
    rendered = render(loaded.spec, Target(), "x")
    assert [file.name for file in rendered.files] == ["a-cache.volume", "a.container", "a.probe"]


def test_a_definition_of_the_user_takes_the_place_of_a_cache_volume(
    load_text: Callable[[str], Loaded],
) -> None:
    loaded = load_text(MODEL + '[volume.a-cache]\nLabel = "mine=1"\n')
    files = {file.name: file.text for file in render(loaded.spec, Target(), "x").files}
    assert lines(files["a-cache.volume"], "Label") == ["mine=1"]


@pytest.mark.parametrize(
    "more",
    [
        '[service.a-cache-volume]\nmodel = "/m"\nlisten = 8001\n',
        '[service.n-network]\nmodel = "/m"\nlisten = 8001\n[network.n]\n',
    ],
)
def test_two_files_of_one_service_are_refused(load_text: Callable[[str], Loaded], more: str) -> None:
    findings = render(load_text(MODEL + more).spec, Target(), "x").findings
    assert [finding.code for finding in findings] == ["unit-name-twice"]


def test_growing_delays_are_written_only_where_systemd_has_them(load_text: Callable[[str], Loaded]) -> None:
    loaded = load_text(MODEL)
    assert lines(container(loaded, Target(systemd=257)), "RestartMaxDelaySec") == ["300"]
    assert lines(container(loaded, Target(systemd=252)), "RestartMaxDelaySec") == []


def test_no_limit_of_processes_where_the_controller_is_not_delegated(
    load_text: Callable[[str], Loaded],
) -> None:
    assert lines(container(load_text(MODEL), Target(pids_controller=False)), "PidsLimit") == ["0"]
    assert lines(container(load_text(MODEL), Target(pids_controller=True)), "PidsLimit") == ["-1"]


def test_the_wait_for_the_model_outlasts_the_unit(load_text: Callable[[str], Loaded]) -> None:
    text = container(load_text(MODEL + 'probe.mode = "container"\nprobe.startup-timeout = "2h"\n'))
    assert lines(text, "TimeoutStartSec") == ["8100"]
    assert "VLLM_ENGINE_READY_TIMEOUT_S=14400" in text
    assert int(lines(text, "StartLimitIntervalSec")[0]) > 10 * 8100


def test_only_the_services_asked_for_and_what_they_need(load_text: Callable[[str], Loaded]) -> None:
    text = (
        MODEL + '[service.b]\nmodel = "/m"\nlisten = 8001\nnetwork = "n.network"\n[network.n]\n[volume.v]\n'
    )
    rendered = render(load_text(text).spec, Target(), "x", ["b"])
    assert [file.name for file in rendered.files] == ["b-cache.volume", "b.container", "b.probe", "n.network"]
    everything = render(load_text(text).spec, Target(), "x")
    assert {file.name: file.services for file in everything.files}["v.volume"] == ()


def test_a_floats_text_reaches_vllm_as_it_was_written(load_text: Callable[[str], Loaded]) -> None:
    text = container(
        load_text(
            MODEL
            + "serve.gpu-memory-utilization = 0.90\nserve.cpu-offload-gb = 1e-5\nserve.max-model-len = -1\n"
        )
    )
    assert "--gpu-memory-utilization 0.90 --cpu-offload-gb 1e-5 --max-model-len=-1" in lines(text, "Exec")[0]


@pytest.mark.parametrize(
    "path", [built_in(name).path for name in BUILT_IN] + CONFIGURATIONS, ids=lambda path: path.stem
)
def test_a_real_generator_makes_every_service(path: Path, generator: Generator) -> None:
    loaded = load(Source(str(path), path))
    rendered = render(loaded.spec, Target(generator.version, systemd=257), path.name)
    made = generator.convert({file.name: file.text for file in rendered.files})
    unexpected = made.messages.replace("quadlet-generator", "")
    assert "unsupported" not in unexpected
    assert "converting" not in unexpected
    for service in loaded.spec.services:
        argv = made.argv(f"{service.name}.service")
        image = argv.index(service.image if "/" in service.image else "docker.io/vllm/vllm-openai:v0.25.1")
        assert tuple(argv[image + 1 :]) == command(service, serving_of(service))
    assert len(made.services) == len([file for file in rendered.files if not file.name.endswith(".probe")])
