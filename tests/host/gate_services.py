"""The services of the gate's tests: the real `vllm serve`, and stubs that fail in every way that a start can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testhost import BASE_IMAGE, base_prefix, tiny_service
from testhost.places import VLLM_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

PORTS = {
    name: 8351 + number
    for number, name in enumerate(
        ("vllm-gate", "vllm-late", "slow", "wrong-names", "wrong-key", "loading", "crash", "no-device",
         "no-image", "card-one", "card-two", "update", "tls", "elsewhere", "unix")
    )
}  # fmt: skip
UPDATED = "localhost/gate-update:latest"
SOCKETS, CERTIFICATES = "gate-sockets", "gate-tls"
HANG, INTERVAL = 15, 3


def spec() -> str:
    """All of them."""
    return "\n".join((real("vllm-gate", LIVELY), real("vllm-late", LATE), *stubs()))


# More than the model allows, which only the server that applies the override can know.
LATE = """serve.max-model-len = 300
serve.hf-overrides = { max_position_embeddings = 256 }"""
LIVELY = f"""probe = {{ hang-timeout = {HANG}, interval = {INTERVAL} }}
restart = {{ delay = 2, max-delay = 2, attempts = 50 }}
serve.max-model-len = 256"""


def real(name: str, more: str) -> str:
    """A service of the real server with the tiny model."""
    more = f"start-on-boot = {'true' if name == 'vllm-gate' else 'false'}\n{more}"
    return tiny_service(name, str(PORTS[name]), more, names='["tiny", "tiny with a blank and 100%"]')


def stubs() -> Iterator[str]:
    """The stubs."""
    few = "restart = { attempts = 3, delay = 1, max-delay = 1 }\n"
    card = 'accelerator = "nvidia"\ngpus = [0]\n'
    yield stub("slow", "env.LOAD = 4")
    yield stub("wrong-names", 'env.NAMES = "another,one"')
    yield stub("wrong-key", 'api-key = "gate-key"\nenv.KEY = "another"\nprobe.interval = 1')
    yield stub("loading", "env.LOAD = 120")
    yield stub("crash", few + 'env = { DIE = "crash", LOAD = 1 }')
    yield stub("no-device", few + 'accelerator = "nvidia"\ngpus = [7]\nprobe.wait-timeout = 1')
    yield stub("no-image", few, image="localhost/gone:1")
    yield stub("card-one", card + "env.LOAD = 6")
    yield stub("card-two", few + card + 'env = { DIE = "crash", LOAD = 3 }')
    yield stub("update", 'auto-update = "local"\nprobe.interval = 1', image=UPDATED)
    yield stub(
        "tls",
        f'probe = {{ tls-ca = "~/{CERTIFICATES}/ca.pem", tls-name = "models.example" }}\n'
        'serve = { ssl-certfile = "/tls/cert.pem", ssl-keyfile = "/tls/key.pem" }',
        volume=f"~/{CERTIFICATES}:/tls:ro",
    )
    yield stub("elsewhere", 'network = "host"\nserve.root-path = "/llm"', listen='"[::1]:%d"')
    yield stub("unix", 'serve.uds = "/sockets/vllm.sock"', volume=f"~/{SOCKETS}:/sockets")


def stub(name: str, more: str, *, image: str = BASE_IMAGE, volume: str = "", listen: str = "%d") -> str:
    """A service whose server is `stub_vllm.py`, which does what its environment says."""
    volumes = [f"{base_prefix()}:{base_prefix()}:ro", "/src/tests/host:/stub:ro", *filter(None, [volume])]
    accelerator = "" if "accelerator" in more else 'accelerator = "none"'
    return f"""
[service.{name}]
model = "org/stub"
image = "{image}"
vllm = "{VLLM_VERSION}"
entrypoint = ["{base_prefix()}/bin/python3.11", "-u", "/stub/stub_vllm.py"]
served-name = "tiny"
offline = true
start-on-boot = false
listen = {listen % PORTS[name]}
volumes = {volumes}
{accelerator}
{more}
"""
