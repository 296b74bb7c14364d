"""What a batch takes around the embedding layer: ids, looked-up vectors, logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from embcalc.core.regimes import Regime

ID_BYTES = 8
"""torch's int64 ids."""
ONE_HOT_BYTES = 4
"""fp32."""


class Loss(StrEnum):
    """How a causal language model's loss treats its logits."""

    TRAINER = "trainer"
    """HF Trainer: 12 bytes a logit at the peak."""
    MANUAL = "manual"
    """A loop that keeps `outputs`: 14 bytes a logit in half precision, 16 in fp32."""
    NO_UPCAST = "no-upcast"
    """Cross-entropy in the dtype of the logits: three copies."""
    CHUNKED = "chunked"
    """A fused linear cross-entropy (Liger): one chunk and a gradient of the head."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Sequences of equal length."""

    size: int
    length: int

    @property
    def tokens(self) -> int:
        """B x T."""
        return self.size * self.length


@dataclass(frozen=True, slots=True)
class Head:
    """The matrix that computes logits."""

    rows: int
    width: int


@dataclass(frozen=True, slots=True)
class Step:
    """One training step's batch through a layer."""

    batch: Batch
    rows: int
    """Rows of the token table, V."""
    width: int
    """Its width, d."""
    head: Head | None
    """None for a model without logits."""
    loss: Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Activations:
    """Bytes of one step's batch."""

    batch: Batch
    loss: Loss
    regime: str
    """The regime whose dtypes `lookup_output_bytes` and `logits_peak_bytes` have."""
    input_ids_bytes: int
    lookup_output_bytes: int
    logits_peak_bytes: int
    """0 for a model without an output head."""
    one_hot_bytes: int
    """The same lookup as a product with one-hot rows, fp32."""
    one_hot_flops: int
    by_regime: Mapping[str, tuple[int, int]]
    """Lookup output and logits at their peak, by regime."""

    @property
    def lookup_flops(self) -> int:
        """A lookup copies; it computes nothing."""
        return 0


def logits_peak(tokens: int, head: Head | None, loss: Loss, regime: Regime) -> int:
    """Bytes of logits and what the loss makes of them, at the peak of a step.

    Measured per token and vocabulary row for the first three kinds (docs/formulas.md).
    """
    if head is None or tokens == 0:
        return 0
    if loss is Loss.CHUNKED:
        weight_gradient = head.rows * head.width * regime.weights
        return _chunk(tokens, head) * head.rows * regime.logits + weight_gradient
    return tokens * head.rows * _bytes_a_logit(loss, regime)


def _bytes_a_logit(loss: Loss, regime: Regime) -> int:
    if loss is Loss.TRAINER:
        return 12
    if loss is Loss.MANUAL:
        return 16 if regime.logits == 4 else 14
    return 3 * regime.logits


def _chunk(tokens: int, head: Head) -> int:
    """Liger's chunk: so many tokens that their logits are about as large as their inputs."""
    parts = -(-head.rows // head.width)
    wanted = -(-tokens // parts)
    return min(tokens, 1 << (wanted - 1).bit_length())


def activations(step: Step, regimes: Sequence[Regime], reference: Regime) -> Activations:
    """What a batch takes.

    Args:
        step: batch and layer.
        regimes: for `by_regime`.
        reference: the regime of the two single numbers.
    """
    tokens = step.batch.tokens
    lookup, logits = lookup_and_logits(step, reference)
    return Activations(
        batch=step.batch,
        loss=step.loss,
        regime=reference.name,
        input_ids_bytes=tokens * ID_BYTES,
        lookup_output_bytes=lookup,
        logits_peak_bytes=logits,
        one_hot_bytes=tokens * step.rows * ONE_HOT_BYTES,
        one_hot_flops=2 * tokens * step.rows * step.width,
        by_regime={regime.name: lookup_and_logits(step, regime) for regime in regimes},
    )


def lookup_and_logits(step: Step, regime: Regime) -> tuple[int, int]:
    """Bytes of the looked-up vectors, and of the logits at their peak."""
    tokens = step.batch.tokens
    lookup = tokens * step.width * regime.weights
    return lookup, logits_peak(tokens, step.head, step.loss, regime)
