from __future__ import annotations

import pytest

from embcalc.core import optimizers, regimes
from embcalc.core.growth import Addition, fine_tuning, growth
from embcalc.core.memory import Table, Training, full_table
from embcalc.core.role import Role

MIXED = Training(regimes.BY_NAME["mixed"], optimizers.BY_NAME["adamw"])


def _tables(rows: int, *, tied: bool) -> tuple[Table, ...]:
    head = Table(role=Role.OUTPUT, rows=rows, width=4, trainable_rows=rows, shared=tied)
    return (full_table(Role.TOKEN, rows, 4), head, full_table(Role.POSITION, 8, 4))


@pytest.mark.parametrize(
    ("rows", "tokens", "pad_to", "new", "padding"),
    [
        (32_000, 5, 64, 32_064, 59),
        (32_000, 5, None, 32_005, 0),
        (32_000, 64, 64, 32_064, 0),
        (32_001, 0, 64, 32_064, 63),
        (1, 0, None, 1, 0),
    ],
)
def test_rows(rows: int, tokens: int, pad_to: int | None, new: int, padding: int) -> None:
    grown = growth(_tables(rows, tied=True), [MIXED], Addition(rows, tokens, pad_to))
    assert (grown.new_rows, grown.padding_rows) == (new, padding)
    assert (grown.old_rows, grown.requested_rows) == (rows, rows + tokens)
    assert grown.added_parameters == (new - rows) * 4
    assert grown.added_bytes == {"mixed": (new - rows) * 4 * 12}
    assert grown.total_bytes == {"mixed": (new * 4 + 32) * 12}


def test_an_untied_head_grows_too() -> None:
    grown = growth(_tables(100, tied=False), [MIXED], Addition(100, 10, None))
    assert grown.added_parameters == 2 * 10 * 4


def test_three_ways_to_train_new_rows() -> None:
    each = 100 * 4
    untied = fine_tuning(_tables(100, tied=False), [MIXED], 10)
    positions = 32 * 2
    assert untied.full == {"mixed": 2 * each * 12 + positions}
    assert untied.modules_to_save == {"mixed": 2 * each * (2 + 12) + positions}
    assert untied.trainable_rows == {"mixed": 2 * (each * 2 + 40 * 10) + positions}
    tied = fine_tuning(_tables(100, tied=True), [MIXED], 10)
    assert tied.full == {"mixed": each * 12 + positions}
    assert tied.modules_to_save == {"mixed": each * 2 + 2 * each * 12 + positions}
    assert tied.trainable_rows == {"mixed": each * 2 + 40 * 10 + positions}
