from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from embcalc.core import optimizers, regimes
from embcalc.core.budget import Situation, budget, need
from embcalc.core.logits import Batch, Head, Loss, Step
from embcalc.core.memory import Table, Training, full_table, with_rows
from embcalc.core.role import Role
from embcalc.core.sharding import Layout


def _tables(rows: int, width: int, *, tied: bool) -> tuple[Table, ...]:
    head = Table(role=Role.OUTPUT, rows=rows, width=width, trainable_rows=rows, shared=tied)
    return (full_table(Role.TOKEN, rows, width), head)


def _training(regime: str) -> Training:
    return Training(regimes.BY_NAME[regime], optimizers.BY_NAME["adamw"])


def test_the_bare_table() -> None:
    situation = Situation(tables=_tables(150_000, 2560, tied=True), layout=None, step=None)
    found = budget(5_000_000_000, situation, [_training("mixed"), _training("fp32")])
    assert found.needs == {"mixed": 4_608_000_000, "fp32": 6_144_000_000}
    assert found.fits == {"mixed": True, "fp32": False}
    assert found.largest_vocab_size == {
        "mixed": 5_000_000_000 // (2560 * 12),
        "fp32": 5_000_000_000 // (2560 * 16),
    }
    assert found.largest_batch_tokens is None
    assert not found.exceeded


def test_exactly_enough_fits_and_a_byte_less_does_not() -> None:
    situation = Situation(tables=_tables(1000, 8, tied=False), layout=None, step=None)
    exact = 2 * 8000 * 16
    assert budget(exact, situation, [_training("fp32")]).fits == {"fp32": True}
    short = budget(exact - 1, situation, [_training("fp32")])
    assert short.exceeded
    assert short.largest_vocab_size == {"fp32": 999}
    assert budget(1, situation, [_training("fp32")]).largest_vocab_size == {"fp32": 0}


def test_a_batch_counts() -> None:
    step = Step(Batch(2, 10), 1000, 8, Head(1000, 8), Loss.TRAINER)
    situation = Situation(tables=_tables(1000, 8, tied=True), layout=None, step=step)
    tokens = 8 + 8 * 4 + 1000 * 12
    assert need(situation, _training("fp32")) == 8000 * 16 + 20 * tokens
    found = budget(8000 * 16 + 25 * tokens, situation, [_training("fp32")])
    assert found.largest_batch_tokens == {"fp32": 25}


def test_ranks_count() -> None:
    layout = Layout(zero_stage=3, data_parallel=8)
    situation = Situation(tables=_tables(1000, 8, tied=True), layout=layout, step=None)
    assert need(situation, _training("fp32")) == 1000 * 16


@given(
    st.integers(1, 10**10),
    st.sampled_from([regime.name for regime in regimes.REGIMES]),
    st.booleans(),
    st.integers(1, 500),
)
@settings(deadline=None, derandomize=True, max_examples=60)
def test_the_largest_vocabulary_is_the_largest(
    size: int, regime: str, tied: bool, width: int
) -> None:
    tables, training = _tables(100, width, tied=tied), _training(regime)
    situation = Situation(tables=tables, layout=None, step=None)
    largest = budget(size, situation, [training]).largest_vocab_size[regime]

    def fits(rows: int) -> bool:
        grown = Situation(tables=with_rows(tables, rows), layout=None, step=None)
        return need(grown, training) <= size

    assert largest == 0 or fits(largest)
    assert not fits(largest + 1)
