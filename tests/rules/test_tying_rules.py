from __future__ import annotations

from typing import Any

import pytest

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Finding, Problem, Selection, Severity, run_rules
from embcalc.core.row_facts import RowFacts
from embcalc.core.tables import Role
from embcalc.core.tying import Tying
from embcalc.rules import checkpoint_files, tying
from tests.rules.row_models import facts, rows, table

RULES: tuple[Any, ...] = (
    tying.head_is_missing,
    tying.tying_conflicts_with_values,
    tying.head_stored_twice,
)
FILES: tuple[Any, ...] = (
    checkpoint_files.broken_checkpoint_files,
    checkpoint_files.untidy_checkpoint_files,
)


def every(of: RowFacts) -> tuple[Finding, ...]:
    return run_rules(RULES, of, Selection()).findings


def codes(of: RowFacts) -> list[tuple[str, str]]:
    return [(finding.rule, finding.severity.value) for finding in every(of)]


@pytest.mark.parametrize("verdict", ["tied", "untied", "no-head", "unknown"])
def test_verdicts_that_are_fine(verdict: Any) -> None:
    assert codes(facts(rows(), tying=Tying(verdict, "so"))) == []


@pytest.mark.parametrize(("expects", "severity"), [(True, "error"), (None, "warning")])
def test_a_missing_head(expects: bool | None, severity: str) -> None:
    of = facts(rows(), tying=Tying("head-missing", "no head"), expects_head=expects)
    assert codes(of) == [("EMB402", severity)]
    assert every(of)[0].message == "no head"


def test_tied_by_config_with_other_values() -> None:
    both = rows(), rows(table(Role.OUTPUT))
    assert codes(facts(*both, tying=Tying("conflict", "they differ"))) == [("EMB403", "error")]


def test_other_row_counts_are_left_to_the_rule_about_sizes() -> None:
    both = rows(), rows(table(Role.OUTPUT, rows=11))
    assert codes(facts(*both, tying=Tying("conflict", "they differ"))) == []


def test_a_head_stored_twice_is_a_note_with_the_bytes() -> None:
    both = rows(), rows(table(Role.OUTPUT))
    of = facts(*both, tying=Tying("tied-stored-twice", "equal: 1.0 MB are redundant"))
    assert codes(of) == [("EMB404", "note")]


def test_without_any_table_tying_is_skipped() -> None:
    run = run_rules(RULES, facts(unread="no weights"), Selection())
    assert [(s.rule, s.reason) for s in run.skipped] == [
        ("EMB402", "no weights"),
        ("EMB403", "no weights"),
        ("EMB404", "no weights"),
    ]


def test_problems_of_a_checkpoint_by_severity() -> None:
    of = ModelFacts(
        model="m",
        checkpoint_problems=(
            Problem("shard 2 is absent", "upload it", "model.safetensors.index.json"),
            Problem("the index is stale", severity=Severity.WARNING),
            Problem("a stray file", severity=Severity.NOTE),
        ),
    )
    found = run_rules(FILES, of, Selection()).findings
    assert [(one.rule, one.severity.value) for one in found] == [
        ("EMB601", "error"),
        ("EMB602", "warning"),
        ("EMB602", "note"),
    ]
    assert found[0].hint == "upload it"


def test_rows_and_values_that_say_something() -> None:
    of = facts(
        rows(),
        problems=(Problem("cut short while it was read"),),
        value_problems=(Problem("27 of 339 matrices hold nothing but zeros"),),
    )
    late = (checkpoint_files.rows_cannot_be_read, checkpoint_files.values_are_no_weights)
    assert [one.rule for one in run_rules(late, of, Selection()).findings] == ["EMB604", "EMB605"]
    nothing = facts(rows(), no_values="not asked for")
    assert [one.reason for one in run_rules(late, nothing, Selection()).skipped] == [
        "not asked for"
    ]


@pytest.mark.parametrize("rule", [*RULES, *FILES])
def test_every_rule_explains_itself(rule: Any) -> None:
    assert rule.summary.endswith(".")
    for word in ("Fix:", "Before:", "After:"):
        assert word in rule.explanation
