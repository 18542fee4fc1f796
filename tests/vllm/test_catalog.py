"""What the lookups of a catalog answer."""

from __future__ import annotations

import pytest

from quadgen.errors import UsageError
from quadgen.vllm import catalog
from quadgen.vllm.catalog import RELEASES, key_life, life, load, minor_of, nearest, variable_life
from quadgen.vllm.describe import age_words, default_words, describe, value_words


@pytest.mark.parametrize(
    ("form", "name", "negated", "keys"),
    [
        pytest.param("tensor-parallel-size", "tensor-parallel-size", False, (), id="its own name"),
        pytest.param("--tensor-parallel-size", "tensor-parallel-size", False, (), id="with dashes"),
        pytest.param("tensor_parallel_size", "tensor-parallel-size", False, (), id="underscores"),
        pytest.param("tp", "tensor-parallel-size", False, (), id="short, bare"),
        pytest.param("-tp", "tensor-parallel-size", False, (), id="short"),
        pytest.param("device-memory-utilization", "gpu-memory-utilization", False, (), id="alias"),
        pytest.param("no-enable-prefix-caching", "enable-prefix-caching", True, (), id="negative"),
        pytest.param("--no_enable_prefix_caching", "enable-prefix-caching", True, (), id="negative, mixed"),
        pytest.param("compilation-config.mode", "compilation-config", False, ("mode",), id="dotted"),
        pytest.param(
            "-cc.pass_config.fuse_norm_quant",
            "compilation-config",
            False,
            ("pass_config", "fuse_norm_quant"),
            id="short, dotted",
        ),
        pytest.param(
            "compilation_config.custom_ops+", "compilation-config", False, ("custom_ops+",), id="append"
        ),
        pytest.param("-O3", "optimization-level", False, (), id="level"),
    ],
)
def test_finds_an_option_by_any_written_form(
    form: str, name: str, *, negated: bool, keys: tuple[str, ...]
) -> None:
    match = load("0.32").find(form)
    assert match is not None
    assert (match.option.name, match.negated, match.keys) == (name, negated, keys)


@pytest.mark.parametrize("form", ["tensor-parallel", "O4", "swap-space", "", "--", "disable-prefix-caching"])
def test_finds_nothing_for_what_the_release_does_not_take(form: str) -> None:
    assert load("0.32").find(form) is None


def test_says_whether_the_parser_has_to_read_underscores_as_dashes() -> None:
    found = load("0.32").find
    assert (found("max_num_seqs").exact, found("max-num-seqs").exact) == (False, True)


def test_knows_the_negative_forms_that_came_in_0_33() -> None:
    match = load("0.33").find("disable-prefix-caching")
    assert match is not None
    assert match.negated
    assert match.option.negative == ("--no-enable-prefix-caching", "--disable-prefix-caching")
    assert match.option.hidden == ("--no-enable-prefix-caching",)


@pytest.mark.parametrize("release", ["0.32", "0.32.0", "v0.32.1", "0.32.0rc2", "v0.32.0-cu129"])
def test_loads_the_catalog_of_a_minor_release_for_all_its_versions(release: str) -> None:
    assert load(release).version == "0.32.0"


@pytest.mark.parametrize("release", ["0.19", "0.34.0", "nightly", "0.3", "0.200"])
def test_refuses_a_release_without_a_catalog(release: str) -> None:
    with pytest.raises(UsageError, match=release):
        load(release)


@pytest.mark.parametrize(
    ("version", "release"),
    [("0.17.1", "0.20"), ("0.26.1", "0.26"), ("0.34.0", "0.33"), ("1.0", "0.33"), ("nightly", "0.33")],
)
def test_names_the_nearest_release(version: str, release: str) -> None:
    assert nearest(version) == release


def test_leaves_text_that_is_no_version_alone() -> None:
    assert minor_of("nightly") == "nightly"


@pytest.mark.parametrize(
    ("form", "first", "gone", "replacement"),
    [
        pytest.param("monokernel", "0.33", None, "", id="new"),
        pytest.param("--max-num-partial-prefills", "0.20", "0.27", "", id="removed"),
        pytest.param(
            "enable-mamba-fine-grained-prefix-cache",
            "0.30",
            "0.31",
            "`enable-mamba-shared-prefix-checkpoint`",
            id="renamed",
        ),
        pytest.param("swap_space", None, "0.18", "`kv-offloading-size`, which works differently", id="older"),
        pytest.param("disable-log-requests", "0.33", None, "`enable-log-requests = false`", id="negative"),
        pytest.param(
            "no-enable-log-requests", "0.20", None, "`enable-log-requests = false`", id="negative of all"
        ),
    ],
)
def test_tells_which_releases_take_a_form(
    form: str, first: str | None, gone: str | None, replacement: str
) -> None:
    found = life(form)
    assert found is not None
    assert (next(iter(found.releases), None), found.gone, found.replacement) == (first, gone, replacement)


def test_knows_nothing_of_names_that_never_were() -> None:
    assert (life("swop-space"), variable_life("VLLM_SWOP"), key_life("PassConfig", "fuse")) == (
        None,
        None,
        None,
    )


def test_tells_which_releases_have_a_json_key() -> None:
    removed, new = key_life("KVTransferConfig", "kv_rank"), key_life("KernelConfig", "monokernel")
    assert removed is not None
    assert new is not None
    assert (removed.gone, new.releases) == ("0.32", ("0.33",))


def test_tells_which_releases_read_a_variable() -> None:
    backend, old = variable_life("VLLM_FLASHINFER_MOE_BACKEND"), variable_life("VLLM_ATTENTION_BACKEND")
    assert backend is not None
    assert old is not None
    assert (backend.releases[-1], backend.gone, backend.replacement) == ("0.23", "0.24", "`moe-backend`")
    assert (old.releases, old.gone, old.replacement) == ((), "0.15", "`attention-backend`")


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("tensor-paralel-size", "tensor-parallel-size"),
        ("gpu_memory_utilisation", "gpu-memory-utilization"),
        ("--max-model-length", "max-model-len"),
        ("enable-prefix-cache", "enable-prefix-caching"),
    ],
)
def test_guesses_what_a_mistyped_name_meant(form: str, name: str) -> None:
    assert name in load("0.32").near(form)


def test_guesses_nothing_for_noise() -> None:
    assert load("0.32").near("xyzzy") == ()


def test_search_puts_the_name_itself_first() -> None:
    names = [option.name for option in load("0.32").search("kv_cache_dtype")]
    assert names[0] == "kv-cache-dtype"


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("drafter", "speculative-config"),
        ("turboquant", "kv-cache-dtype"),
        ("LoRAConfig", "max-loras"),
        ("-tp", "tensor-parallel-size"),
    ],
)
def test_search_looks_at_summaries_choices_groups_and_spellings(word: str, name: str) -> None:
    assert name in [option.name for option in load("0.32").search(word)]


def test_search_finds_nothing_for_noise() -> None:
    assert load("0.32").search("xyzzy") == ()


def test_has_bounds_that_vllm_checks_only_at_start() -> None:
    options = load("0.32").options
    share, port = options["gpu-memory-utilization"].bounds, options["port"].bounds
    assert (share.allow(1), share.allow(0), share.allow(1.01), share.allow(float("nan"))) == (
        True,
        False,
        False,
        False,
    )
    assert (str(share), str(port)) == ("above 0 and at most 1", "at least 0 and at most 65535")
    assert not options["seed"].bounds


def test_knows_values_that_only_the_engine_refuses() -> None:
    new, old = load("0.33").options["kv-cache-dtype"], load("0.32").options["kv-cache-dtype"]
    assert (new.kind, new.choices, old.kind, old.late_choices) == ("text", (), "choice", ())
    assert "fp8" in new.late_choices
    assert "q8_0" not in new.late_choices + old.choices
    assert load("0.33").options["attention-backend"].any_case


def test_gives_json_classes_with_keys_types_and_nested_classes() -> None:
    known = load("0.32")
    assert known.json_class("CompilationConfig").keys["pass_config"].type == "PassConfig"
    assert known.json_class("PassConfig").keys["eliminate_noops"].type == "bool"
    assert known.json_class("AttentionConfig").keys["backend"].alternatives == ("choice", "none")
    assert known.json_class("SpeculativeConfig").checked is False
    assert known.json_class("PoolerConfig").checked is True


def test_refuses_a_json_class_that_the_release_does_not_have() -> None:
    with pytest.raises(KeyError):
        load("0.32").json_class("WatchdogConfig")


def test_splits_a_type_only_between_its_alternatives() -> None:
    key = load("0.33").json_class("SpeculativeConfig").keys["num_speculative_tokens_per_batch_size"]
    assert key.alternatives == ("list[tuple[int, int, int]]", "none")


def test_gives_environment_variables() -> None:
    known = load("0.33")
    timeout = known.variable("VLLM_ENGINE_READY_TIMEOUT_S")
    assert timeout is not None
    assert (timeout.type, timeout.default, timeout.since) == ("int", "600", "0.20")
    assert known.variables["VLLM_API_KEY"].secret
    assert known.variable("VLLM_NO_SUCH_THING") is None
    assert load("0.26").variable("VLLM_HTTP_MAX_REQUEST_BODY_SIZE") is None


def test_describes_an_option_in_words() -> None:
    options = load("0.32").options
    assert value_words(options["gpu-memory-utilization"]) == "number, above 0 and at most 1"
    assert value_words(options["hf-token"]) == "text, or true for none"
    assert value_words(options["middleware"]) == "text, or a list of it"
    assert age_words(options["spec-method"]).startswith("0.22, changed 0.3")
    assert age_words(load("0.26").options["max-num-partial-prefills"]) == "0.20 or before, until 0.26"
    assert [
        default_words(options[name]) for name in ("port", "enable-lora", "enforce-eager", "allowed-methods")
    ] == [
        "8000",
        "",
        "false",
        "*",
    ]


def test_describes_an_option_as_json_with_the_keys_of_its_class() -> None:
    known = load("0.33")
    told = describe(known.options["watchdog-config"], known)
    assert told["since"] == "0.33"
    assert [key["name"] for key in told["keys"]] == ["check_interval", "dump_dir", "timeout"]
    assert "keys" not in describe(known.options["port"], known)


def test_options_are_a_mapping() -> None:
    options = load("0.33").options
    assert len(options) == len(list(options)) == 320
    assert "port" in options
    assert "p0rt" not in options
    assert catalog.load("0.33") is load("v0.33.0")
    assert RELEASES[0] == "0.20"
