"""The recognised reasons as data: what vLLM, PyTorch, NCCL, the hub client, Podman and the kernel say."""

from __future__ import annotations

from typing import NamedTuple


class ReasonRow(NamedTuple):
    """One recognised reason.

    Args:
        kind: Stable name, for scripts.
        pattern: Regular expression of what a line of the log holds.
        permanent: Whether a restart cannot help.
        what: What happened, in a few words.
        remedy: What to do; `{model}` and the like are filled in.
    """

    kind: str
    pattern: str
    permanent: bool
    what: str
    remedy: str


def _row(kind: str, pattern: str, what: str, remedy: str, *, permanent: bool = False) -> ReasonRow:
    return ReasonRow(kind=kind, pattern=pattern, permanent=permanent, what=what, remedy=remedy)


ROWS: tuple[ReasonRow, ...] = (
    # The card and its driver.
    _row(
        "gpu-lost",
        r"(?i)GPU has fallen off the bus|GPU is lost|Xid \([^)]*\): (?:79|119|120|154)\b",
        "the GPU is gone",
        "reset the card or reboot; if it happens again, look at power, heat and seating",
        permanent=True,
    ),
    _row(
        "gpu-memory-defect",
        r"(?i)uncorrectable (?:ECC|NVLink) error|Xid \([^)]*\): (?:48|63|64|74|94|95)\b",
        "the GPU reports a hardware fault",
        "reset the card with `nvidia-smi --gpu-reset` or reboot; if it stays, have it replaced",
        permanent=True,
    ),
    _row(
        "driver-mismatch",
        r"Driver/library version mismatch",
        "driver and libraries are of different versions",
        "reboot after the driver's upgrade, and have the CDI specs made anew",
        permanent=True,
    ),
    _row(
        "driver-old",
        r"(?i)NVIDIA driver on your system is too old|CUDA driver version is insufficient"
        r"|unsupported display driver|forward compatibility was attempted on non supported HW",
        "the driver is too old for the image's CUDA",
        "upgrade the driver, or take an image for an older CUDA",
        permanent=True,
    ),
    _row(
        "gpu-generation",
        r"no kernel image is available for execution",
        "the image has no code for this card's generation",
        "take an image built for it, or another attention backend or quantisation",
        permanent=True,
    ),
    _row(
        "selinux",
        r"(?i)NVML.{0,40}Insufficient Permissions",
        "the container may not open the GPU",
        "SELinux: set SecurityLabelDisable, or `setsebool -P container_use_devices true`; else see GroupAdd",
        permanent=True,
    ),
    _row(
        "cdi",
        r"unresolvable CDI devices?",
        "Podman does not know the GPU's CDI name",
        "make the specs: `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`; compare the names",
    ),
    _row(
        "cdi-stale",
        r"crun: cannot stat"
        r"|crun: (?:error )?(?:opening|mount) .{0,80}(?:libnvidia|libcuda|/dev/nvidia).{0,80}No such file",
        "a CDI spec names files that are gone",
        "the driver has changed: make the CDI specs anew",
    ),
    _row(
        "no-gpu",
        r"(?i)Failed to infer device type|No CUDA GPUs are available|UnspecifiedPlatform"
        r"|no NVIDIA GPU detected|CUDA-capable device\(s\) is/are busy or unavailable|no CUDA-capable device",
        "no GPU has reached the container",
        "look at AddDevice in the unit, at the CDI specs, and at `podman run` with nvidia-smi",
    ),
    # Memory.
    _row(
        "gpu-memory",
        r"(?i)CUDA out of memory|torch\.OutOfMemoryError|HIP out of memory|CUDA error: out of memory",
        "out of GPU memory",
        "lower gpu-memory-utilization, max-model-len or max-num-seqs, or see what else is on the card",
    ),
    _row(
        "gpu-memory-taken",
        r"Free memory on device .{0,80}is less than desired",
        "another process has the GPU's memory",
        "end what else is on the card, or lower gpu-memory-utilization",
    ),
    _row(
        "kv-cache",
        r"No available memory for the cache blocks|larger than the available KV cache|KV cache is needed",
        "the KV cache does not fit",
        "lower max-model-len or raise gpu-memory-utilization; a smaller kv-cache-dtype helps too",
    ),
    _row(
        "shm",
        r"(?i)Insufficient space in /dev/shm"
        r"|(?:shared memory|/dev/shm).{0,120}(?:No space left|too small|insufficient|out of memory)"
        r"|Bus error.{0,80}shared memory|creating shared memory segment",
        "/dev/shm is too small",  # noqa: S108 - a message
        'raise shm-size (4g and more for tensor parallel), or take ipc = "host"',
        permanent=True,
    ),
    _row(
        "disk-full",
        r"No space left on device|Disk quota exceeded",
        "the disk is full",
        "free space where caches and container images lie, then start again",
        permanent=True,
    ),
    _row(
        "host-memory",
        r"(?i)oom-kill|Out of memory: Killed process|Memory cgroup out of memory|killed by the OOM killer",
        "the kernel ended it for want of memory",
        "raise the unit's memory limit, or lower swap-space, cpu-offload-gb or the number of services",
    ),
    # The model and the hub.
    _row(
        "gated",
        r"(?i)gated repo|GatedRepoError|is a gated repository|Access to model .{0,80} is restricted",
        "the repository is gated",
        "accept its terms on the hub with the account of the token, and set hf-token",
        permanent=True,
    ),
    _row(
        "model-not-found",
        r"RepositoryNotFoundError|Repository Not Found|RevisionNotFoundError|is not a valid model identifier"
        r"|not a local folder or a valid repository name|does not appear to have a file named",
        "the model was not found",
        "look at the spelling of {model}, its revision, and whether a private one needs hf-token",
        permanent=True,
    ),
    _row(
        "hub-token",
        r"(?i)40[13] Client Error.{0,200}(?:huggingface|hf\.co)|Invalid user token"
        r"|Invalid credentials in Authorization",
        "the hub refuses the token",
        "make a new token and store it: `podman secret create --replace NAME -` ({secrets})",
        permanent=True,
    ),
    _row(
        "offline",
        r"LocalEntryNotFoundError|OfflineModeIsEnabled|couldn't connect to"
        r"|couldn't find them in the cached files|NameResolutionError|Temporary failure in name resolution",
        "the hub cannot be reached and the cache lacks files",
        "look at the network, or fill the cache first: `hf download {model}`",
    ),
    # The command line.
    _row(
        "option",
        r"(?:vllm|api_server\.py)[^:]{0,60}: error: |error: unrecognized arguments|invalid choice:",
        "vLLM refuses an option",
        "run `quadgen check {service}` for this release's options",
        permanent=True,
    ),
    _row(
        "config",
        r"validation errors? for \w+|VLLMValidationError|is greater than the derived max_model_len"
        r"|must be divisible by tensor parallel size"
        r"|Model architectures? .{0,120}(?:not supported|failed to be inspected)",
        "vLLM refuses the configuration",
        "run `quadgen check {service}`; the line names the value",
        permanent=True,
    ),
    # The network of the machine.
    _row(
        "socket-stale",
        r"(?i)address already in use.{0,80}\.sock|\.sock.{0,80}address already in use",
        "a stale Unix socket is in the way",
        "remove the socket file",
    ),
    _row(
        "port",
        r"(?i)address already in use|port is already allocated|Failed to bind port",
        "the port is taken",
        "see who listens with `ss -ltnp`, or choose another in listen",
    ),
    # Podman, before the server runs.
    _row(
        "secret",
        r"no secret with name or id|no such secret",
        "a Podman secret is missing",
        "create it: `printf %s VALUE | podman secret create NAME -` ({secrets})",
        permanent=True,
    ),
    _row(
        "image",
        r"image not known|manifest unknown|unable to copy from source|Error: initializing source"
        r"|requested access to the resource is denied|short-name .{0,80}did not resolve",
        "the image cannot be had",
        "pull it by hand to see why: `podman pull {image}`",
    ),
    _row(
        "bind-source",
        r"Error: (?:statfs|lstat|stat) ",
        "a mounted path does not exist",
        "create it, with the right owner",
        permanent=True,
    ),
    _row(
        "network",
        r"unable to find network with name or ID|network not found",
        "a Podman network is missing",
        "create it, or render it with the service",
        permanent=True,
    ),
    _row(
        "entrypoint",
        r"executable file .{0,120}not found in \$PATH"
        r"|OCI runtime attempted to invoke a command that was not found",
        "the image has no such program",
        "look at the image's entrypoint",
        permanent=True,
    ),
    # What the others cause, or what comes of none of them.
    _row(
        "nccl",
        r"(?i)NCCL (?:error|WARN)|ncclUnhandledCudaError|ncclSystemError|ncclInternalError|ncclRemoteError"
        r"|DistBackendError|Watchdog caught collective operation timeout",
        "the GPUs cannot talk to each other",
        "try NCCL_DEBUG=INFO; raise shm-size; NCCL_P2P_DISABLE=1 tells whether the link is at fault",
    ),
    _row(
        "cuda",
        r"CUDA error: |CUDNN_STATUS|cublas\w* failed|CUBLAS_STATUS|HIP error: ",
        "a CUDA error",
        "see the kernel's log for Xid lines: `journalctl -k --grep Xid`",
    ),
    _row(
        "engine-ready-timeout",
        r"(?i)Timed out waiting for engine|VLLM_ENGINE_READY_TIMEOUT_S",
        "vLLM's own start timeout has passed",
        "raise VLLM_ENGINE_READY_TIMEOUT_S above startup-timeout",
    ),
    _row(
        "engine-died",
        r"died unexpectedly|EngineDeadError|Engine core proc .{0,60}died",
        "the engine died",
        "see the lines above it in the log",
    ),
)

# Exit statuses, where the log told nothing. Podman's own: 125 it failed itself, 126 and 127 the runtime did.
STATUS_ROWS: dict[int, tuple[str, str, str]] = {
    1: ("exit-1", "the server ended with an error", ""),
    2: ("option", "the server refused its arguments", "run `quadgen check {service}`"),
    125: ("podman", "Podman could not create the container", "missing secret, network or path? see the log"),
    126: (
        "runtime",
        "the container could not be started",
        "a device that does not resolve, or no permission",
    ),
    127: (
        "entrypoint",
        "the container's program was not found",
        "look at the image's entrypoint, and at stale CDI specs",
    ),
    132: ("signal", "ended by an illegal instruction", "the image needs a newer CPU"),
    134: ("signal", "ended by an abort", "see the lines above it in the log"),
    135: ("shm", "ended by a bus error", "most often /dev/shm is too small: raise shm-size"),
    137: (
        "killed",
        "ended by SIGKILL",
        "by hand, by the watch, or by the kernel for want of memory (`journalctl -k`)",
    ),
    139: ("signal", "ended by a segmentation fault", "see the lines above it in the log"),
    143: ("signal", "ended by SIGTERM", ""),
}
