from __future__ import annotations

import pytest

from embcalc.core import optimizers, regimes
from embcalc.core.memory import Table, Training, full_table
from embcalc.core.role import Role
from embcalc.core.sharding import Layout, largest_rank, padded_rows, per_rank


def _tables(rows: int, width: int, *, tied: bool) -> tuple[Table, ...]:
    head = Table(role=Role.OUTPUT, rows=rows, width=width, trainable_rows=rows, shared=tied)
    return (full_table(Role.TOKEN, rows, width), head)


def _training(regime: str = "mixed-master", optimizer: str = "adamw") -> Training:
    return Training(regimes.BY_NAME[regime], optimizers.BY_NAME[optimizer])


@pytest.mark.parametrize(
    ("rows", "ranks", "padded"),
    [(50_257, None, 50_257), (50_257, 1, 50_304), (50_257, 8, 51_200), (51_200, 8, 51_200)],
)
def test_megatron_padding(rows: int, ranks: int | None, padded: int) -> None:
    assert padded_rows(rows, Layout(tensor_parallel=ranks)) == padded


@pytest.mark.parametrize(
    ("stage", "each"),
    [(0, 16), (1, 2 + 2 + 12 / 8), (2, 2 + 2 / 8 + 12 / 8), (3, 16 / 8)],
)
def test_zero_stages(stage: int, each: float) -> None:
    layout = Layout(zero_stage=stage, data_parallel=8)
    found = per_rank(_tables(1000, 64, tied=True), [_training()], layout, 1000)
    assert found.bytes == {"mixed-master": int(64_000 * each)}
    assert found.padded_rows == 1000


def test_an_uneven_share_is_rounded_up_to_whole_scalars() -> None:
    layout = Layout(zero_stage=3, data_parallel=8)
    found = per_rank(_tables(3, 3, tied=True), [_training("fp32")], layout, 3)
    assert found.bytes == {"fp32": 2 * 16}


def test_tensor_parallel_slices_rows() -> None:
    layout = Layout(tensor_parallel=8)
    found = per_rank(_tables(50_257, 64, tied=False), [_training("mixed")], layout, 50_257)
    assert (found.padded_rows, found.rows_a_rank) == (51_200, 6400)
    assert found.bytes == {"mixed": 2 * 6400 * 64 * 12}


def test_positions_are_on_every_rank() -> None:
    tables = (*_tables(128, 4, tied=True), full_table(Role.POSITION, 10, 4))
    found = per_rank(tables, [_training("fp32")], Layout(tensor_parallel=1, divisor=1), 128)
    assert found.bytes == {"fp32": (128 + 10) * 4 * 16}


@pytest.mark.parametrize(("tied", "last"), [(True, 100), (False, 100)])
def test_a_pipeline_has_the_tied_table_at_both_ends(tied: bool, last: int) -> None:
    tables = (*_tables(100, 4, tied=tied), full_table(Role.POSITION, 10, 4))
    found = per_rank(tables, [_training("fp32")], Layout(pipeline_parallel=4), 100)
    assert found.first_stage == {"fp32": 110 * 4 * 16}
    assert found.last_stage == {"fp32": last * 4 * 16}
    assert found.bytes == found.first_stage


def test_trained_rows_stay_few_on_a_rank() -> None:
    tables = (Table(role=Role.TOKEN, rows=256, width=4, trainable_rows=3),)
    layout = Layout(tensor_parallel=2)
    assert largest_rank(tables, _training("fp32"), layout) == 128 * 4 * 4 + 3 * 4 * 12


def test_other_states_are_shared_out_too() -> None:
    layout = Layout(zero_stage=1, data_parallel=4)
    found = largest_rank(_tables(100, 4, tied=True), _training("fp32", "sgd-momentum"), layout)
    assert found == 400 * 8 + 100 * 4
