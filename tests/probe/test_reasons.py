from __future__ import annotations

import pytest
from probe_samples import probe_file

from quadgen.probe.probefile import Needs
from quadgen.probe.reason_rows import ROWS
from quadgen.probe.reasons import bare, diagnose, last_error

ERROR = "(EngineCore_DP0 pid=10) ERROR 01-31 10:00:00 [core.py:9] "

LINES = [
    ("gpu-lost", "NVRM: Xid (PCI:0000:41:00): 79, pid=812, GPU has fallen off the bus."),
    ("gpu-lost", "NVRM: Xid (PCI:0000:41:00): 119, pid=1, Timeout waiting for RPC from GSP"),
    ("gpu-memory-defect", "RuntimeError: CUDA error: uncorrectable ECC error encountered"),
    ("gpu-memory-defect", "NVRM: Xid (PCI:0000:41:00): 94, pid=812, Contained"),
    ("driver-mismatch", "Failed to initialize NVML: Driver/library version mismatch"),
    ("driver-old", "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."),
    ("gpu-generation", "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    ("selinux", "Failed to initialize NVML: Insufficient Permissions"),
    ("cdi", "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=0"),
    ("cdi-stale", "Error: crun: cannot stat `/usr/lib/libcuda.so.550.54`: No such file or directory"),
    ("no-gpu", "RuntimeError: Failed to infer device type, please set the environment variable"),
    ("no-gpu", "RuntimeError: No CUDA GPUs are available"),
    ("gpu-memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
    (
        "gpu-memory-taken",
        "ValueError: Free memory on device cuda:0 (3.2/4.0 GiB) on startup is less than desired",
    ),
    ("kv-cache", "ValueError: No available memory for the cache blocks. Try increasing it"),
    ("kv-cache", "ValueError: 9 GiB KV cache is needed, which is larger than the available KV cache memory"),
    ("shm", "Error while creating shared memory segment /dev/shm/nccl-x (size 9637888)"),
    ("shm", "OSError: [Errno 28] No space left on device: '/dev/shm/psm_1'".replace("No", "/dev/shm: No")),
    (
        "shm",
        "RuntimeError: Insufficient space in /dev/shm for the message queue: 160 MiB are needed, 64 are free",
    ),
    ("disk-full", "OSError: [Errno 28] No space left on device"),
    ("host-memory", "Out of memory: Killed process 4711 (python3) total-vm:1kB"),
    ("gated", "huggingface_hub.errors.GatedRepoError: 401 Client Error. Cannot access gated repo"),
    ("gated", "OSError: You are trying to access a gated repo."),
    ("model-not-found", "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error."),
    (
        "model-not-found",
        "OSError: x/y is not a local folder and is not a valid model identifier listed on hub",
    ),
    ("hub-token", "requests.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/api"),
    ("offline", "OSError: We couldn't connect to 'https://huggingface.co' to load the files"),
    ("option", "vllm serve: error: unrecognized arguments: --swap-space 4"),
    ("option", "vllm: error: argument --dtype: invalid choice: 'fp3'"),
    ("config", "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig"),
    ("socket-stale", "OSError: [Errno 98] Address already in use: '/run/vllm.sock'"),
    ("port", "OSError: [Errno 98] Address already in use"),
    ("port", "Error: pasta failed with exit code 1: Failed to bind port 8000 (Address in use)"),
    ("secret", 'Error: no secret with name or id "hf-token": no such secret'),
    ("image", "Error: localhost/vllm:1: image not known"),
    ("bind-source", "Error: statfs /srv/models: no such file or directory"),
    ("network", "Error: unable to find network with name or ID llm: network not found"),
    ("entrypoint", "Error: crun: executable file `vllm` not found in $PATH: No such file or directory"),
    ("nccl", "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1"),
    ("cuda", "RuntimeError: CUDA error: an illegal memory access was encountered"),
    ("engine-died", "Worker proc VllmWorker-1 died unexpectedly, shutting down executor."),
]


@pytest.mark.parametrize(("kind", "line"), LINES, ids=[f"{kind}-{i}" for i, (kind, _) in enumerate(LINES)])
def test_each_kind_is_recognised(kind: str, line: str) -> None:
    reason = diagnose([line], probe_file())
    assert reason is not None
    assert reason.kind == kind
    assert reason.remedy
    assert "{" not in reason.remedy


def test_every_row_has_a_line_in_the_table() -> None:
    assert {row.kind for row in ROWS} - {kind for kind, _ in LINES} <= {"engine-ready-timeout"}


PERMANENT = {
    *("gpu-lost", "gpu-memory-defect", "driver-mismatch", "driver-old", "gpu-generation", "selinux", "shm"),
    *("disk-full", "gated", "model-not-found", "hub-token", "option", "config", "secret", "bind-source"),
    *("network", "entrypoint"),
}


def test_only_what_a_restart_cannot_mend_is_permanent() -> None:
    assert {row.kind for row in ROWS if row.permanent} == PERMANENT


def test_the_cause_is_named_and_not_what_it_caused() -> None:
    log = [
        ERROR + "EngineCore failed to start.",
        ERROR + "Traceback (most recent call last):",
        ERROR + "ValueError: No available memory for the cache blocks.",
        "(Worker_TP1 pid=12) torch.distributed.DistBackendError: NCCL error in: x",
        "(APIServer pid=9) RuntimeError: Engine core initialization failed. See root cause above.",
    ]
    reason = diagnose(log, probe_file())
    assert reason is not None
    assert reason.kind == "kv-cache"
    assert reason.line == "ValueError: No available memory for the cache blocks."


def test_warnings_are_no_reasons() -> None:
    log = ["(Worker pid=1) WARNING 01-31 10:00:00 [x.py:1] NCCL error: retrying"]
    assert diagnose(log, probe_file()) is None


def test_an_error_of_no_known_kind_is_told_in_its_own_words() -> None:
    log = [
        ERROR + "ZeroDivisionError: division by zero",
        "(APIServer pid=9) RuntimeError: Engine core initialization failed. See root cause above.",
    ]
    reason = diagnose(log, probe_file())
    assert reason is not None
    assert (reason.kind, reason.line) == ("error", "ZeroDivisionError: division by zero")
    assert not reason.permanent


def test_a_line_of_source_is_no_reason() -> None:
    log = [
        "(APIServer pid=9)     raise RuntimeError(",
        "(APIServer pid=9) KeyError: 'x'",
        "(APIServer pid=9)     raise quadgen.Error from None",
        ERROR + "    raise ValueError('No available memory for the cache blocks')",
    ]
    reason = diagnose(log, probe_file())
    assert reason is not None
    assert (reason.kind, reason.line) == ("error", "KeyError: 'x'")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (2, "option"),
        (125, "podman"),
        (126, "runtime"),
        (127, "entrypoint"),
        (135, "shm"),
        (137, "killed"),
        (139, "signal"),
    ],
)
def test_an_exit_status_tells_where_the_log_does_not(status: int, kind: str) -> None:
    reason = diagnose([], probe_file(), status=status)
    assert reason is not None
    assert reason.kind == kind
    assert not reason.permanent


def test_a_clean_end_has_no_reason() -> None:
    assert diagnose(["INFO: Shutting down"], probe_file(), status=0) is None


def test_a_remedy_names_the_service_and_the_model() -> None:
    file = probe_file(models=("org/x",), needs=Needs(image="img:1", secrets=("hf-token",)))
    reason = diagnose(["RepositoryNotFoundError: 404"], file)
    assert reason is not None
    assert "org/x" in reason.remedy
    assert reason.words() == f"{reason.what}: {reason.line} -> {reason.remedy}"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (ERROR + "KeyError: 'x'", "KeyError: 'x'"),
        ("(APIServer pid=9) KeyError: 'x'", "KeyError: 'x'"),
        ("  KeyError: 'x'  ", "KeyError: 'x'"),
        ("x" * 999, "x" * 300 + " …"),
        ("word " * 99, ("word " * 60).rstrip() + " …"),
        (
            "No. " + "a word, and " * 20 + "an end. Another " + "x" * 99,
            "No. " + "a word, and " * 20 + "an end.",
        ),
    ],
    ids=["engine", "process", "blanks", "one word", "words", "sentences"],
)
def test_the_prefix_of_a_line_is_left_out_and_the_end_of_a_long_one(line: str, text: str) -> None:
    assert bare(line) == text


def test_the_last_error_of_a_log_without_one_is_empty() -> None:
    assert last_error(["all is well", "(APIServer pid=9) INFO 01-31 10:00:00 [x.py:1] ok"]) == ""


def test_a_pydantic_error_is_told_in_its_own_words_and_not_by_its_count() -> None:
    log = [
        "(APIServer pid=1) pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
        "",
        "  Value error, User-specified max_model_len (9) is greater than 5. [type=value_error, input_value=x]",
        "    For further information visit https://errors.pydantic.dev/2.14/v/value_error",
    ]
    for lines in (log, [line for line in log if line]):
        reason = diagnose(lines, probe_file())
        assert reason is not None
        assert (reason.kind, reason.line) == (
            "config",
            "Value error, User-specified max_model_len (9) is greater than 5.",
        )
    alone = diagnose(log[:1], probe_file())
    assert alone is not None
    assert alone.line.endswith("1 validation error for ModelConfig")
