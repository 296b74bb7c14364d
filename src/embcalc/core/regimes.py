"""Precision regimes: which bytes a trained parameter costs, and who trains so.

Measured with torch 2.13 by summing the bytes of every tensor after one training step
(docs/formulas.md; tests/core/test_memory_torch.py repeats it).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """Bytes per scalar of one way to train."""

    name: str
    weights: int
    gradients: int
    """All copies together: `deepspeed` keeps one of 2 bytes and one of 4."""
    master: int = 0
    """A 32-bit copy of the weights that the optimizer works on."""
    state: int
    """Each scalar that the optimizer remembers: the dtype of what it steps on."""
    logits: int
    """Each logit as the head computes it."""
    cast: int = 0
    """A copy of the head's weights for the time of a step."""
    meaning: str


REGIMES: tuple[Regime, ...] = (
    Regime(name="fp32", weights=4, gradients=4, state=4, logits=4, meaning="plain torch"),
    Regime(
        name="bf16",
        weights=2,
        gradients=2,
        state=2,
        logits=2,
        meaning="model loaded in bf16, the optimizer on it as it is",
    ),
    Regime(
        name="fp16",
        weights=2,
        gradients=2,
        state=2,
        logits=2,
        meaning="model loaded in fp16, the optimizer on it as it is",
    ),
    Regime(
        name="amp",
        weights=4,
        gradients=4,
        state=4,
        logits=2,
        cast=2,
        meaning="torch.autocast, HF Trainer bf16=True",
    ),
    Regime(
        name="mixed",
        weights=2,
        gradients=2,
        state=4,
        logits=2,
        meaning="half-precision weights, fp32 states, no master copy",
    ),
    Regime(
        name="mixed-master",
        weights=2,
        gradients=2,
        master=4,
        state=4,
        logits=2,
        meaning="mixed with an fp32 master copy (ZeRO, DeepSpeed bf16)",
    ),
    Regime(
        name="megatron",
        weights=2,
        gradients=4,
        master=4,
        state=4,
        logits=2,
        meaning="Megatron-LM: fp32 main gradients",
    ),
    Regime(
        name="deepspeed",
        weights=2,
        gradients=6,
        master=4,
        state=4,
        logits=2,
        meaning="DeepSpeed with bf16 and fp32 gradients kept",
    ),
)
BY_NAME: dict[str, Regime] = {regime.name: regime for regime in REGIMES}
