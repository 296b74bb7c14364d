from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from embcalc.core import optimizers, regimes
from embcalc.core.memory import (
    Bytes,
    Table,
    Training,
    full_table,
    table_bytes,
    total_bytes,
    transients,
    with_rows,
)
from embcalc.core.optimizers import Matrix
from embcalc.core.tables import Role

MEASURED = json.loads((Path(__file__).parent / "data" / "torch_memory.json").read_text("utf-8"))
"""What scripts/memory_truth.py measured with torch 2.13; test_memory_torch.py measures again."""


def _layer(rows: int, width: int, *, tied: bool, head: bool = True) -> tuple[Table, ...]:
    token = full_table(Role.TOKEN, rows, width)
    if not head:
        return (token,)
    output = Table(role=Role.OUTPUT, rows=rows, width=width, trainable_rows=rows, shared=tied)
    return (token, output)


def _training(regime: str, optimizer: str, lookups: int | None = None) -> Training:
    return Training(regimes.BY_NAME[regime], optimizers.BY_NAME[optimizer], lookups)


def computed(case: dict[str, Any], shape: dict[str, int]) -> dict[str, int | None]:
    """Our bytes in the form of the measurement."""
    sparse = case["optimizer"] == "sparse-adam"
    tables = _layer(shape["rows"], shape["width"], tied=case["tied"], head=not sparse)
    size = total_bytes(tables, _training(case["regime"], case["optimizer"], shape["tokens"]))
    return {
        "weights": size.weights,
        "gradients": size.gradients,
        "master_weights": size.master_weights,
        "exp_avg": size.exp_avg,
        "exp_avg_sq": size.exp_avg_sq,
        "optimizer_state": size.optimizer_state,
        "total": size.total,
    }


@pytest.mark.parametrize(
    "case",
    MEASURED["cases"],
    ids=[
        f"{c['regime']}-{c['optimizer']}-{'tied' if c['tied'] else 'untied'}"
        for c in MEASURED["cases"]
    ],
)
def test_equals_what_torch_allocated(case: dict[str, Any]) -> None:
    assert computed(case, MEASURED["shape"]) == case["bytes"]


@pytest.mark.parametrize(
    ("regime", "each"),
    [
        ("fp32", 16),
        ("bf16", 8),
        ("fp16", 8),
        ("amp", 16),
        ("mixed", 12),
        ("mixed-master", 16),
        ("megatron", 18),
        ("deepspeed", 20),
    ],
)
@pytest.mark.parametrize("tied", [True, False])
def test_bytes_a_parameter(regime: str, each: int, tied: bool) -> None:
    size = total_bytes(_layer(150_000, 2560, tied=tied), _training(regime, "adamw"))
    assert size.total == each * 384_000_000 * (1 if tied else 2)


@pytest.mark.parametrize(
    ("optimizer", "states"),
    [
        ("adamw", 2),
        ("adam", 2),
        ("amsgrad", 3),
        ("sgd", 0),
        ("sgd-momentum", 1),
        ("lion", 1),
        ("muon", 2),
        ("muon-all", 1),
        ("adagrad", 1),
        ("rmsprop", 1),
        ("none", 0),
    ],
)
@pytest.mark.parametrize(("regime", "scalar"), [("fp32", 4), ("bf16", 2), ("mixed", 4)])
def test_states(optimizer: str, states: int, regime: str, scalar: int) -> None:
    size = total_bytes(_layer(100, 8, tied=True), _training(regime, optimizer))
    assert size.optimizer_state == states * scalar * 800


def test_which_optimizers_have_moments() -> None:
    table = full_table(Role.TOKEN, 10, 4)
    for name, rule in optimizers.BY_NAME.items():
        state = table_bytes(table, Training(regimes.BY_NAME["fp32"], rule), tied=False)
        both = name in ("adamw", "adam", "amsgrad", "muon", "adamw8bit", "sparse-adam")
        assert (state.exp_avg_sq is not None) is both, name
        assert (state.exp_avg is not None) is (both or name == "lion"), name


def test_adafactor_keeps_a_row_and_a_column() -> None:
    size = total_bytes(_layer(1000, 64, tied=False), _training("fp32", "adafactor"))
    assert size.optimizer_state == 2 * 4 * (1000 + 64)


def test_eight_bit_states_are_for_an_untied_head_alone() -> None:
    untied = total_bytes(_layer(1000, 64, tied=False), _training("bf16", "adamw8bit"))
    assert untied.optimizer_state == 64_000 * 8 + 2 * (64_000 + 4 * 250)
    tied = total_bytes(_layer(1000, 64, tied=True), _training("bf16", "adamw8bit"))
    assert tied.optimizer_state == 64_000 * 8
    small = optimizers.BY_NAME["adamw8bit"].state(Matrix(4095, 1, lookup=False), 4)
    assert small.total == 4095 * 8
    uneven = optimizers.BY_NAME["adamw8bit"].state(Matrix(4097, 1, lookup=False), 4)
    assert uneven.total == 2 * (4097 + 4 * 17)


def test_a_frozen_table_has_weights_alone() -> None:
    table = Table(role=Role.TOKEN, rows=10, width=4, trainable_rows=0)
    assert table_bytes(table, _training("megatron", "adamw"), tied=False) == Bytes(80, 0, 0, 0, 0)
    assert table_bytes(table, _training("fp32", "sgd"), tied=False) == Bytes(160)


def test_trained_rows_cost_what_they_are() -> None:
    table = Table(role=Role.TOKEN, rows=1000, width=8, trainable_rows=5)
    size = table_bytes(table, _training("mixed", "adamw"), tied=False)
    assert (size.weights, size.gradients, size.optimizer_state) == (16_000, 80, 320)


def test_sparse_gradients_depend_on_the_ids() -> None:
    untied = _layer(1000, 8, tied=False)
    size = total_bytes(untied, _training("fp32", "sparse-adam", 6))
    assert size.gradients == 6 * (4 * 8 + 8) + 1000 * 8 * 4
    assert total_bytes(untied, _training("fp32", "sparse-adam")).gradients == 32_000
    tied = total_bytes(_layer(1000, 8, tied=True), _training("fp32", "sparse-adam", 6))
    assert tied.gradients == 32_000


@pytest.mark.parametrize(
    ("regime", "tied", "backward"),
    [
        ("fp32", True, 2 * 4),
        ("bf16", True, 2 * 2),
        ("amp", True, 4 + 2),
        ("amp", False, 2),
        ("fp32", False, 0),
    ],
)
def test_transients_of_the_backward_pass(regime: str, tied: bool, backward: int) -> None:
    found = transients(_layer(100, 8, tied=tied), _training(regime, "adamw"))
    assert found.backward == backward * 800
    assert found.peak == max(found.backward, found.optimizer_step)


def test_transients_of_the_optimizer() -> None:
    tied = _layer(100, 8, tied=True)
    assert transients(tied, _training("mixed-master", "adamw")).optimizer_step == 3200
    assert transients(tied, _training("bf16", "adamw")).optimizer_step == 1600
    assert transients(tied, _training("bf16", "sgd")).optimizer_step == 0


def test_another_vocabulary() -> None:
    tables = (
        *_layer(100, 8, tied=False),
        full_table(Role.POSITION, 16, 8),
        Table(role=Role.TOKEN, rows=90, width=8, trainable_rows=3),
    )
    grown = with_rows(tables, 110)
    assert [(table.rows, table.trainable_rows) for table in grown] == [
        (110, 110),
        (110, 110),
        (16, 16),
        (100, 3),
    ]
    assert [table.rows for table in with_rows(tables, 2)] == [2, 2, 16, 1]
