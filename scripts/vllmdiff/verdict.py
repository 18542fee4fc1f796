"""quadgen's answer and the real parser's answer about one table, compared."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quadgen.vllm.argv import Invocation, argv, read_arguments
from quadgen.vllm.catalog import load
from quadgen.vllm.check import check
from quadgen.vllm.json_options import ObjectReader
from quadgen.vllm.json_rules import RULES as JSON_RULES
from quadgen.vllm.structure import structural_words

if TYPE_CHECKING:
    from quadgen.findings import Finding

# What these codes say is that the parser itself refuses the table: where it does not, quadgen is wrong.
PARSER_CODES = frozenset(
    {
        "option-unknown",
        "option-removed",
        "option-too-new",
        "option-dashes",
        "value-type",
        "value-choice",
        "value-json",
        "value-leading-dash",
        "json-key",
        "json-type",
        "json-required",
        "json-bounds",
        *(rule.code for rule in JSON_RULES),
    }
)
# Parts of a JSON object that vLLM itself rewrites or fills up after reading them.
REWRITTEN = frozenset(
    {
        "torch_profiler_dir",
        "proton_profiler_dir",
        "backend",
        "inductor_compile_config",
        "custom_ops",
        "minimax_m3_msa_decode_backend",
        "logit_bias",
        "logit_scale",
        "logit_mean",
        "logit_sigma",
        "publisher",
        "engine_id",
        # Fusions that the CPU platform of the test cannot do are switched off again.
        "enable_qk_norm_rope_fusion",
        "fuse_act_padding",
        "fuse_mla_dual_rms_norm",
        "fuse_qk_norm_rope_kvcache",
        "fuse_rope_kvcache",
        "fuse_rope_kvcache_cat_mla",
    }
)


@dataclass(frozen=True)
class Question:
    """What one table asks of both.

    Args:
        table: The options.
        findings: quadgen's errors; none when it accepts.
        words: What the parser gets: quadgen's own words, or where it refuses those of the table's structure.
        values: What quadgen says that vLLM sees, by destination.
        late: The JSON class of each destination that the parser leaves to the engine to read.
    """

    table: dict[str, Any]
    findings: tuple[Finding, ...]
    words: tuple[str, ...]
    values: dict[str, Any]
    late: dict[str, str]


def ask(table: dict[str, Any], release: str) -> Question:
    """What quadgen says about a table."""
    invocation = Invocation(model="some/model", release=release, options=table)
    errors = tuple(finding for finding in check(invocation) if finding.severity == "error")
    if errors:
        return Question(table, errors, (invocation.model, *structural_words(table)), {}, {})
    catalog = load(release)
    arguments = read_arguments(invocation, catalog)
    options = [catalog.options[name] for name in arguments.values]
    values = {option.dest: arguments.values[option.name] for option in options}
    late = {
        option.dest: option.json_class
        for option in options
        if option.json_class and not catalog.json_class(option.json_class).checked
    }
    return Question(table, (), argv(invocation), values, late)


@dataclass
class Tally:
    """Figures of a run.

    Args:
        release: The release compared.
        accepted: By both.
        refused: By both.
        ruled: Refused by a named rule of quadgen alone, by the rule's code.
        wrong: Disagreements that nothing explains, each with its table.
    """

    release: str
    accepted: int = 0
    refused: int = 0
    parser_accepted: int = 0
    ruled: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, question: Question, answer: dict[str, Any]) -> None:
        """Count one table."""
        parsed = answer.get("stage") != "parse"
        self.parser_accepted += parsed
        if question.findings:
            self._add_refused(question, parsed=parsed)
        elif "values" not in answer:
            self.wrong.append(
                f"quadgen accepts, vLLM refuses ({answer['stage']}): {answer['error']}\n  {question.table}"
            )
        else:
            self._add_accepted(question, answer["values"])

    def _engine_reads(self, name: str, value: Any) -> Any:
        """What the engine makes of an object that the parser hands on as it is."""
        if not isinstance(value, dict):
            return value
        return ObjectReader(load(self.release)).read(
            name, {key.replace("-", "_"): item for key, item in value.items()}
        )

    def _add_refused(self, question: Question, *, parsed: bool) -> None:
        codes = sorted({finding.code for finding in question.findings})
        named = [code for code in codes if code not in PARSER_CODES]
        if not parsed:
            self.refused += 1
        elif named:
            self.ruled[named[0]] = self.ruled.get(named[0], 0) + 1
        else:
            said = "; ".join(finding.message for finding in question.findings)
            self.wrong.append(
                f"quadgen refuses ({', '.join(codes)}: {said}), vLLM accepts\n  {question.table}"
            )

    def _add_accepted(self, question: Question, values: dict[str, Any]) -> None:
        values = values | {
            dest: self._engine_reads(name, values[dest]) for dest, name in question.late.items()
        }
        different = [
            f"{dest}: {value!r} is {values[dest]!r}"
            for dest, value in question.values.items()
            if not same(value, values[dest])
        ]
        if different:
            self.wrong.append(f"other values: {'; '.join(different)[:600]}\n  {question.table}")
        else:
            self.accepted += 1


def same(ours: Any, theirs: Any) -> bool:
    """Whether what quadgen expects is what vLLM has."""
    if isinstance(theirs, dict):
        return _same_as_object(ours, theirs)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float) and math.isnan(ours):
        return math.isnan(theirs)
    return bool(ours == theirs) and isinstance(ours, bool) == isinstance(theirs, bool)


def _same_as_object(ours: Any, theirs: dict[str, Any]) -> bool:
    if "$enum" in theirs:
        return any(str(ours).lower() == form.lower() for form in theirs["$enum"])
    # An object that vLLM looks up by the name that was given.
    if "$other" in theirs or (isinstance(ours, str) and theirs.get("$class") == "QuantSpec"):
        return True
    if not isinstance(ours, dict):
        return False
    complete = "$class" in theirs or set(ours) == set(theirs)
    return complete and all(
        key in REWRITTEN or same(value, theirs.get(key, "absent")) for key, value in ours.items()
    )
