"""What another release means for a service that works today."""

from __future__ import annotations

from typing import Any

import pytest

from quadgen.vllm.argv import Invocation
from quadgen.vllm.upgrade import CHANGES, upgrade_findings


def upgrade(
    old: str, new: str, env: dict[str, str] | None = None, **options: Any
) -> list[tuple[str, str, str]]:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    invocation = Invocation(model="a/b", release=old, options=named, env=env or {})
    return [(f.severity, f.code, f"{f.message} | {f.remedy}") for f in upgrade_findings(invocation, new)]


@pytest.mark.parametrize(
    ("old", "new", "options", "env", "code", "said"),
    [
        pytest.param("0.26", "0.27", {"max_num_partial_prefills": 2}, {}, "option-removed", "take it out", id="removed"),
        pytest.param("0.27", "0.28", {"calculate_kv_scales": True}, {}, "option-removed", "0.28", id="removed-flag"),
        pytest.param("0.22", "0.23", {"all2all_backend": "mori"}, {}, "value-choice", "mori_high_throughput", id="split-choice"),
        pytest.param("0.23", "0.24", {"tool_call_parser": "minimax", "enable_auto_tool_choice": True}, {}, "tool-parser-unknown", "", id="parser-gone"),
        pytest.param("0.32", "0.33", {"spec_method": "medusa", "spec_model": "x/y", "spec_tokens": 2}, {}, "value-choice", "eagle3", id="method-gone"),
        pytest.param("0.31", "0.32", {"kv_transfer_config": {"kv_rank": 1}}, {}, "json-key", "kv_rank", id="json-key-gone"),
        pytest.param("0.31", "0.32", {}, {}, "upgrade-origins", 'allowed-origins = ["*"]', id="default-origins"),
        pytest.param("0.31", "0.32", {"disable_cascade_attn": True}, {}, "upgrade-cascade", "take it out", id="without-effect"),
        pytest.param("0.30", "0.31", {"log_config_file": "/l.json"}, {}, "option-deprecated", "", id="deprecated"),
        pytest.param("0.32", "0.33", {"mamba_cache_mode": "align"}, {}, "upgrade-mamba", "take it out", id="meaning"),
        pytest.param("0.29", "0.30", {}, {}, "upgrade-scale-out", "enable-scale-out = true", id="routes"),
        pytest.param("0.32", "0.33", {}, {}, "upgrade-body-size", "32 MiB", id="new-limit"),
        pytest.param("0.23", "0.24", {}, {"VLLM_NVFP4_GEMM_BACKEND": "cutlass"}, "env-removed", "linear-backend", id="variable"),
        pytest.param("0.22", "0.23", {"enable_eplb": True, "enable_expert_parallel": True, "tensor_parallel_size": 2}, {}, "upgrade-eplb", "use_async = false", id="default-in-json"),
    ],
)  # fmt: skip
def test_an_upgrade_says_what_breaks_and_what_changes(  # noqa: PLR0917 - one for each column
    old: str, new: str, options: dict[str, Any], env: dict[str, str], code: str, said: str
) -> None:
    found = [text for _, finding_code, text in upgrade(old, new, env, **options) if finding_code == code]
    assert found
    assert said in found[0]


def test_a_setting_that_pins_the_old_way_is_not_warned_about() -> None:
    assert "upgrade-origins" not in {code for _, code, _ in upgrade("0.31", "0.32", allowed_origins=["*"])}


def test_what_was_wrong_before_is_not_news() -> None:
    assert "option-unknown" not in {code for _, code, _ in upgrade("0.31", "0.32", zzz_option=1)}


def test_staying_changes_nothing() -> None:
    assert upgrade("0.33", "0.33.1", max_num_seqs=3) == []


def test_going_back_names_what_is_too_new() -> None:
    assert [code for _, code, _ in upgrade("0.33", "0.32", monokernel=True)] == ["option-too-new"]


def test_an_unknown_release_says_that_nothing_was_checked() -> None:
    assert [code for _, code, _ in upgrade("0.33", "0.40", max_num_seqs=3)] == ["release-unknown"]


def test_every_change_has_an_edit() -> None:
    assert all(change.remedy for change in CHANGES)
