from __future__ import annotations

import pytest

from embcalc.core.logits import Batch, Head, Loss, Step, activations, logits_peak
from embcalc.core.regimes import BY_NAME, REGIMES


def _step(batch: Batch, loss: Loss = Loss.TRAINER, *, head: bool = True) -> Step:
    return Step(batch, 150_000, 2560, Head(150_000, 2560) if head else None, loss)


def test_the_one_hot_form_of_a_big_batch() -> None:
    found = activations(_step(Batch(64, 2048)), REGIMES, BY_NAME["fp32"])
    assert found.one_hot_bytes == 78_643_200_000
    assert found.one_hot_flops == 2 * 64 * 2048 * 150_000 * 2560
    assert found.lookup_flops == 0
    assert found.input_ids_bytes == 64 * 2048 * 8
    assert found.lookup_output_bytes == 64 * 2048 * 2560 * 4
    assert found.logits_peak_bytes == 64 * 2048 * 150_000 * 12
    assert found.by_regime["bf16"][0] == 64 * 2048 * 2560 * 2


@pytest.mark.parametrize(
    ("loss", "regime", "each"),
    [
        (Loss.TRAINER, "bf16", 12),
        (Loss.TRAINER, "fp32", 12),
        (Loss.MANUAL, "bf16", 14),
        (Loss.MANUAL, "amp", 14),
        (Loss.MANUAL, "fp32", 16),
        (Loss.NO_UPCAST, "bf16", 6),
        (Loss.NO_UPCAST, "fp32", 12),
    ],
)
def test_bytes_a_logit(loss: Loss, regime: str, each: int) -> None:
    assert logits_peak(10, Head(1000, 8), loss, BY_NAME[regime]) == 10 * 1000 * each


def test_a_chunked_loss_takes_a_chunk_and_a_gradient() -> None:
    head = Head(128_256, 4096)
    # 32 parts of 16,384 tokens: chunks of 512.
    assert logits_peak(16_384, head, Loss.CHUNKED, BY_NAME["bf16"]) == (
        512 * 128_256 * 2 + 128_256 * 4096 * 2
    )
    small = logits_peak(3, Head(8, 4), Loss.CHUNKED, BY_NAME["fp32"])
    assert small == 2 * 8 * 4 + 8 * 4 * 4


def test_no_head_no_logits() -> None:
    found = activations(_step(Batch(2, 3), head=False), REGIMES, BY_NAME["amp"])
    assert found.logits_peak_bytes == 0
    assert found.one_hot_bytes == 6 * 150_000 * 4
