from __future__ import annotations

from typing import Any

import pytest

from embcalc.core.logits import Batch, Loss
from embcalc.core.regimes import REGIMES
from embcalc.core.request import LOSSES, EstimateRequest
from embcalc.core.sharding import Layout
from embcalc.errors import UsageError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 0}, "--vocab-size must be at least 1, not 0"),
        ({"vocab_size": -3}, "--vocab-size must be at least 1, not -3"),
        ({"vocab_size": 2**33}, "--vocab-size must be at most"),
        ({"hidden_size": 10**4000}, "a number of 4000 digits"),
        ({"hidden_size": True}, "--hidden-size takes a whole number"),
        ({"add_tokens": -1}, "--add-tokens must be at least 0"),
        ({"pad_to": 0}, "--pad-to must be at least 1"),
        ({"zero_stage": 4}, "--zero-stage must be at most 3"),
        ({"data_parallel": 0}, "--data-parallel must be at least 1"),
        ({"precision": ("int4",)}, "--precision 'int4' is not known"),
        ({"optimizer": "adm"}, "--optimizer 'adm' is not known"),
        ({"freeze": ("head",)}, "--freeze 'head' is not known"),
        ({"loss": "l2", "batch_size": 1, "seq_len": 1}, "--loss 'l2' is not known"),
        ({"batch_size": 4}, "--batch-size needs --seq-len"),
        ({"seq_len": 4}, "--seq-len needs --batch-size"),
        ({"loss": "manual"}, "--loss needs --batch-size and --seq-len"),
        ({"frozen": True, "trainable_rows": 3}, "--frozen and --trainable-rows contradict"),
        ({"vocab_divisor": 64}, "--vocab-divisor needs --tensor-parallel"),
        ({"budget": 0}, "--budget must be at least 1"),
        ({"budget": "24G"}, "--budget: the unit of '24G' is not known"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        EstimateRequest(**options)
    assert message in caught.value.message
    assert "\n" not in caught.value.message


def test_near_names_are_offered() -> None:
    with pytest.raises(UsageError) as caught:
        EstimateRequest(optimizer="adamw8")
    assert caught.value.hint == "did you mean adamw or adamw8bit?"


def test_what_is_left_out() -> None:
    request = EstimateRequest()
    assert request.regimes == REGIMES
    assert request.batch is None
    assert request.layout is None
    assert request.budget_bytes is None
    assert request.loss_kind is Loss.TRAINER
    assert not request.asks_for_more
    assert not request.overrides


def test_regimes_come_once_and_in_order() -> None:
    request = EstimateRequest(precision=("mixed", "fp32", "mixed"))
    assert [regime.name for regime in request.regimes] == ["fp32", "mixed"]


def test_parts_are_put_together() -> None:
    request = EstimateRequest(
        batch_size=2, seq_len=3, loss="chunked", zero_stage=1, tensor_parallel=4, budget="1kB"
    )
    assert request.batch == Batch(2, 3)
    assert request.loss_kind is Loss.CHUNKED
    assert request.layout == Layout(zero_stage=1, tensor_parallel=4)
    assert request.budget_bytes == 1000
    assert request.asks_for_more


def test_the_names_of_losses_are_those_of_the_enum() -> None:
    assert [loss.value for loss in Loss] == list(LOSSES)
