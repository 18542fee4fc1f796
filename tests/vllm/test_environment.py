"""Environment variables and secrets of a service."""

from __future__ import annotations

from typing import Any

import pytest

from quadgen.vllm.argv import Invocation
from quadgen.vllm.check import check

TOKEN = "hf_" + "a1B2" * 9


def findings(env: dict[str, str], options: dict[str, Any] | None = None, **rest: Any) -> list[Any]:
    fields = {"model": "some/model", "release": "0.33.0", "options": options or {}, "env": env, **rest}
    return [
        finding
        for finding in check(Invocation(**fields))
        if finding.severity != "note" or finding.path[0] == "env"
    ]


@pytest.mark.parametrize(
    ("env", "severity", "code", "said"),
    [
        pytest.param({"VLLM_LOGING_LEVEL": "INFO"}, "warning", "env-unknown", "VLLM_LOGGING_LEVEL", id="misspelt"),
        pytest.param({"VLLM_USE_V1": "1"}, "warning", "env-removed", "0.11", id="removed-long-ago"),
        pytest.param({"VLLM_MM_HASHER_ALGORITHM": "blake3"}, "warning", "env-removed", "mm-hasher-algorithm", id="moved"),
        pytest.param({"VLLM_WORKER_MULTIPROC_METHOD": "thread"}, "error", "env-choice", "spawn", id="choice"),
        pytest.param({"VLLM_ENGINE_READY_TIMEOUT_S": "ten"}, "error", "env-type", "number", id="not-a-number"),
        pytest.param({"VLLM_USE_V2_MODEL_RUNNER": "maybe"}, "error", "env-type", "neither yes nor no", id="not-a-switch"),
        pytest.param({"VLLM_LOGGING_LEVEL": "'INFO'"}, "warning", "quotes-in-value", "quotes", id="quotes"),
        pytest.param({"VLLM_PORT": "8000"}, "error", "vllm-port", "listen", id="port-of-the-api"),
        pytest.param({"VLLM_PORT": "tcp://1.2.3.4:80"}, "error", "vllm-port", "number", id="port-as-address"),
        pytest.param({"VLLM_HOST_IP": "::"}, "error", "vllm-host-ip", "listen", id="host-ip-everywhere"),
        pytest.param({"VLLM_HOST_IP": "10.0.0.5"}, "note", "vllm-host-ip", "several nodes", id="host-ip-alone"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "1"}, "warning", "visible-devices", "gpus", id="visible-devices"),
        pytest.param({"NVIDIA_VISIBLE_DEVICES": "all"}, "warning", "visible-devices", "gpus", id="nvidia-devices"),
        pytest.param({"NCCL_DEBUG": "TRACE"}, "note", "nccl-leftover", "journal", id="nccl-debug"),
        pytest.param({"NCCL_IB_DISABLE": "1"}, "note", "nccl-leftover", "single GPU", id="nccl-without-peers"),
        pytest.param({"RAY_ADDRESS": "x"}, "note", "ray-leftover", "ray", id="ray-without-ray"),
        pytest.param({"VLLM_KEEP_ALIVE_ON_ENGINE_DEATH": "1"}, "warning", "keep-alive", "restart", id="keep-alive"),
        pytest.param({"TORCHINDUCTOR_CACHE_DIR": "/c"}, "warning", "env-overwritten", "VLLM_CACHE_ROOT", id="inductor"),
        pytest.param({"VLLM_SERVER_DEV_MODE": "1"}, "warning", "dev-mode-local", "without a key", id="dev-mode"),
        pytest.param({"a b": "1"}, "error", "env-name", "no name", id="name"),
    ],
)  # fmt: skip
def test_a_variable_gets_its_answer(env: dict[str, str], severity: str, code: str, said: str) -> None:
    found = findings(env)
    assert [(finding.severity, finding.path) for finding in found] == [(severity, ("env", next(iter(env))))]
    assert found[0].code.startswith(code)
    assert said in f"{found[0].message} {found[0].remedy}"


def test_a_variable_of_a_newer_release_names_it() -> None:
    found = findings({"VLLM_HTTP_MAX_REQUEST_BODY_SIZE": "1"}, release="0.32.0")
    assert [(finding.code, finding.message) for finding in found] == [
        ("env-too-new", "VLLM_HTTP_MAX_REQUEST_BODY_SIZE is new in 0.33; this image is 0.32")
    ]


def test_strict_validation_makes_an_unknown_variable_an_error() -> None:
    found = findings({"VLLM_NO_SUCH_THING": "1"}, {"fail-on-environ-validation": True})
    assert [(finding.severity, finding.code) for finding in found] == [("error", "env-unknown")]


@pytest.mark.parametrize(
    ("reachable", "severity"), [(True, "error"), (False, "warning")], ids=["network", "loopback"]
)
def test_the_development_endpoints_are_for_loopback(reachable: bool, severity: str) -> None:
    found = findings({"VLLM_SERVER_DEV_MODE": "1"}, reachable=reachable)
    assert [finding.severity for finding in found] == [severity]


def test_variables_of_others_are_nobodys_business() -> None:
    assert findings({"HF_HOME": "/cache", "CUTE_DSL_ARCH": "sm_121a", "OMP_NUM_THREADS": "4"}) == []


@pytest.mark.parametrize(
    ("env", "options"),
    [
        pytest.param({"VLLM_API_KEY": "s3cr3t"}, {}, id="api-key-variable"),
        pytest.param({"HF_TOKEN": TOKEN}, {}, id="hub-token-variable"),
        pytest.param({"HUGGING_FACE_HUB_TOKEN": "s3cr3t"}, {}, id="old-hub-token-variable"),
        pytest.param({"S3_SECRET_ACCESS_KEY": "s3cr3t"}, {}, id="bucket-key"),
        pytest.param({"MY_SETTING": TOKEN}, {}, id="looks-like-a-token"),
        pytest.param({}, {"api-key": "s3cr3t"}, id="api-key-option"),
        pytest.param({}, {"api_key": ["s3cr3t", "b"]}, id="api-key-list"),
        pytest.param({}, {"hf-token": "s3cr3t"}, id="hub-token-option"),
        pytest.param({}, {"model-loader-extra-config": {"auth": {"token": TOKEN}}}, id="token-inside-json"),
    ],
)
def test_a_secret_in_plain_text_is_refused_and_never_shown(
    env: dict[str, str], options: dict[str, Any]
) -> None:
    found = findings(env, options)
    assert "secret-in-plain-text" in {finding.code for finding in found}
    shown = " ".join(f"{finding.message} {finding.remedy}" for finding in found)
    assert "s3cr3t" not in shown
    assert TOKEN not in shown


def test_a_secret_is_refused_without_a_catalog_too() -> None:
    found = check(Invocation(model="m", release="0.17.0", options={"api-key": "s3cr3t"}))
    assert [finding.code for finding in found] == ["secret-in-plain-text", "release-unknown"]


@pytest.mark.parametrize("value", ["<token>", "changeme", "hf_your_token", "your-model", "XXXX", "${MODEL}"])
def test_a_placeholder_is_refused(value: str) -> None:
    assert "placeholder" in {finding.code for finding in findings({"THING": value})}
    assert "placeholder" in {finding.code for finding in check(Invocation(model=value, release="0.33"))}


@pytest.mark.parametrize("value", ["a/b", "/models/my model", "my-org/your-model", "x", "s3://bucket/a"])
def test_a_real_name_is_no_placeholder(value: str) -> None:
    assert [f.code for f in check(Invocation(model=value, release="0.33")) if f.severity == "error"] == []
