from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from embcalc.core.findings import Finding, Rule, Selection, Severity, run_rules
from embcalc.core.row_facts import RowFacts, TableRows
from embcalc.core.tables import Role
from embcalc.core.tokenizer_facts import EmittedId, TokenizerFacts
from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.rules import row_health
from tests.rules.row_models import facts, rows, table, tokenizer, vocabulary

ALL = (
    row_health.nonfinite_row,
    row_health.table_of_zeros,
    row_health.magnitudes_out_of_range,
    row_health.special_token_on_dead_row,
    row_health.zero_row,
    row_health.near_zero_row,
    row_health.duplicate_rows,
    row_health.head_of_other_scale,
)


def findings(
    of: RowFacts, rules: Sequence[Rule[Any]] = ALL
) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(f.rule, f.severity.value, f.ids) for f in every(of, rules)]


def every(of: RowFacts, rules: Sequence[Rule[Any]] = ALL) -> tuple[Finding, ...]:
    return run_rules(rules, of, Selection()).findings


def rows_of(kind: str, *numbers: int) -> TableRows:
    found: dict[str, Any] = {kind: numbers}
    return rows(**found)


def test_a_healthy_table_has_no_findings() -> None:
    assert findings(facts(rows(), rows(table(Role.OUTPUT)))) == []


def test_without_rows_everything_is_skipped_with_the_reason() -> None:
    run = run_rules(ALL, facts(unread="the values are packed"), Selection())
    assert run.findings == ()
    assert {skipped.reason for skipped in run.skipped} == {"the values are packed"}
    assert len(run.skipped) == len(ALL)


def test_without_a_head_its_scale_is_skipped() -> None:
    run = run_rules(ALL, facts(rows()), Selection())
    assert [(s.rule, s.reason) for s in run.skipped] == [
        ("EMB508", "no output head beside the token table")
    ]


def test_nonfinite_rows_are_errors_in_every_table_special_tokens_first() -> None:
    found = every(facts(rows(nonfinite=(2, 5, 11)), rows(table(Role.OUTPUT), nonfinite=(6,))))
    assert [(f.rule, f.severity, f.ids) for f in found] == [
        ("EMB501", Severity.ERROR, (2, 5, 11)),
        ("EMB501", Severity.ERROR, (6,)),
    ]
    assert found[0].message == (
        "3 rows of model.embed_tokens.weight with NaN or infinity: '</s>' (2), 'the' (5), row 11"
    )
    assert found[1].message == "1 row of lm_head.weight with NaN or infinity: 'of' (6)"
    assert found[0].file == "model.safetensors"


def test_nonfinite_rows_need_no_tokenizer() -> None:
    found = every(facts(rows(nonfinite=(5,)), tokenizer_facts=TokenizerFacts()))
    assert [f.message for f in found] == ["1 row with NaN or infinity: row 5"]


def test_a_zeroed_table_is_one_finding() -> None:
    found = findings(facts(rows(zero=tuple(range(12)), median_norm=None)))
    assert found == [("EMB502", "error", ())]


@pytest.mark.parametrize(
    ("median", "largest"), [(1e-19, 1e-18), (1e30, 1e37), (0.5, 1e20), (1e5, 1e6)]
)
def test_garbage_magnitudes(median: float, largest: float) -> None:
    of = facts(rows(median_norm=median, largest_norm=largest))
    assert findings(of) == [("EMB503", "error", ())]


@pytest.mark.parametrize("median", [1e-3, 0.02, 1.0, 60.0, 5_000.0])
def test_usual_magnitudes(median: float) -> None:
    assert findings(facts(rows(median_norm=median, largest_norm=10 * median))) == []


@pytest.mark.parametrize(("row", "severity"), [(1, "error"), (2, "error"), (4, "error")])
@pytest.mark.parametrize("kind", ["zero", "near_zero"])
def test_tokens_with_a_purpose_on_dead_rows_are_errors(row: int, severity: str, kind: str) -> None:
    assert findings(facts(rows_of(kind, row))) == [("EMB504", severity, (row,))]


def test_other_special_tokens_on_dead_rows_are_warnings() -> None:
    assert findings(facts(rows(near_zero=(1, 7)))) == [
        ("EMB504", "error", (1,)),
        ("EMB504", "warning", (7,)),
    ]


def test_purposes_are_named() -> None:
    (found,) = every(facts(rows(zero=(1, 4))))
    assert "'<s>' (1), '<|user|>' (4) (bos_token, chat template)" in found.message


def test_a_purpose_stated_in_the_config_alone_counts() -> None:
    of = facts(rows(zero=(5,)), config={"decoder_start_token_id": 5})
    assert findings(of) == [("EMB504", "error", (5,))]


@pytest.mark.parametrize("row", [0, 3])
@pytest.mark.parametrize("kind", ["zero", "near_zero"])
def test_padding_and_unknown_may_be_empty(row: int, kind: str) -> None:
    assert findings(facts(rows_of(kind, row))) == []


def test_the_name_alone_says_that_a_token_is_padding() -> None:
    of = facts(rows(zero=(0,)), tokenizer_facts=tokenizer(named=()))
    assert findings(of) == []


def test_what_the_tokenizer_pads_with_is_padding() -> None:
    pads = EmittedId(where="padding.pad_id", id=7, text="<extra>", file="tokenizer.json")
    of = facts(rows(zero=(7,)), tokenizer_facts=tokenizer(emitted=(pads,)))
    assert findings(of) == []


def test_a_padding_token_that_ends_sequences_too_may_not() -> None:
    of = facts(rows(zero=(0,)), config={"eos_token_id": 0})
    assert findings(of) == [("EMB504", "error", (0,))]


@pytest.mark.parametrize("row", [8, 10, 11])
@pytest.mark.parametrize("kind", ["zero", "near_zero"])
def test_placeholders_and_rows_past_the_tokenizer_may_be_empty(row: int, kind: str) -> None:
    assert findings(facts(rows_of(kind, row))) == []


def test_zero_rows_of_ordinary_tokens() -> None:
    (found,) = every(facts(rows(zero=(0, 5, 9, 10))))
    assert (found.rule, found.severity, found.ids) == ("EMB505", Severity.ERROR, (5, 9))
    assert found.message == "2 tokens on a row of zeros: 'the' (5), 'and' (9)"


def test_zero_rows_of_quantised_tables_are_warnings() -> None:
    of = facts(rows(table(dtype="F8_E4M3"), zero=(5,)))
    assert findings(of) == [("EMB505", "warning", (5,))]


def test_an_allowed_token_may_be_empty() -> None:
    assert findings(facts(rows(zero=(5,)), allowed=["the"])) == []


def test_near_zero_rows_of_ordinary_tokens() -> None:
    (found,) = every(facts(rows(near_zero=(5, 6, 11), median_norm=0.777)))
    assert (found.rule, found.severity, found.ids) == ("EMB506", Severity.WARNING, (5, 6))
    assert "median 0.777" in found.message


def test_duplicates_count_real_tokens_only() -> None:
    found = every(facts(rows(duplicates=((1, 5, 9), (2, 8), (6, 7), (8, 10, 11)))))
    assert [(f.rule, f.severity, f.ids) for f in found] == [
        ("EMB507", Severity.WARNING, (1, 5, 6, 7, 9))
    ]
    assert found[0].message == (
        "5 tokens in 2 groups of identical rows: '<s>' (1), 'the' (5), 'and' (9), "
        "and 1 further group"
    )


def test_duplicates_of_placeholders_are_fine() -> None:
    assert findings(facts(rows(duplicates=((8, 10, 11),)))) == []


@pytest.mark.parametrize(("head", "expected"), [(30.0, 1), (0.03, 1), (29.0, 0), (0.034, 0)])
def test_a_head_of_another_scale(head: float, expected: int) -> None:
    of = facts(rows(median_norm=1.0), rows(table(Role.OUTPUT), median_norm=head, largest_norm=head))
    assert findings(of) == [("EMB508", "warning", ())] * expected


def test_only_a_head_is_stored() -> None:
    of = facts(rows(table(Role.OUTPUT), zero=(5,), nonfinite=(6,)))
    assert findings(of) == [("EMB501", "error", (6,)), ("EMB505", "error", (5,))]


def test_texts_are_shown_as_people_write_them_and_cut() -> None:
    words = Vocabulary(
        format="tokenizer.json",
        file="tokenizer.json",
        form=TextForm.BYTE_LEVEL,
        base={"Ġhello": 0, "x" * 100: 1, **{f"t{i}": i for i in range(2, 12)}},
    )
    of = facts(
        rows(zero=tuple(range(11))),
        tokenizer_facts=tokenizer(vocabulary=words, named=(), chat_tokens=()),
    )
    (found,) = every(of)
    assert found.message.startswith(f"11 tokens on a row of zeros: ' hello' (0), '{'x' * 39}…' (1)")
    assert found.message.endswith("and 3 more")


@pytest.mark.parametrize("kind", ["zero", "near_zero"])
def test_very_many_dead_rows_are_cut_in_ids(kind: str) -> None:
    size = 50_000
    words = vocabulary([f"t{i}" for i in range(size)], ())
    of = facts(
        rows(table(rows=size + 1), **{kind: tuple(range(size))}),
        tokenizer_facts=tokenizer(vocabulary=words, named=(), chat_tokens=()),
    )
    (found,) = every(of)
    assert found.message.startswith("50,000 tokens")
    assert len(found.ids) == 1000
