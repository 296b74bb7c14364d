"""What fits into a number of bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from embcalc.core.logits import ID_BYTES, Batch, Head, Step, lookup_and_logits
from embcalc.core.memory import Table, Training, token_rows, total_bytes, with_rows
from embcalc.core.sharding import Layout, largest_rank

SEARCH_LIMIT = 2**40
"""Rows or tokens beyond which nobody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What fits into so many bytes."""

    bytes: int
    needs: Mapping[str, int]
    """By regime: the layer (on its fullest rank, grown) and the batch."""
    fits: Mapping[str, bool]
    largest_vocab_size: Mapping[str, int]
    """Rows that still fit, 0 where none does."""
    largest_batch_tokens: Mapping[str, int] | None
    """B x T that still fit beside the layer; None without a batch."""

    @property
    def exceeded(self) -> bool:
        """Whether no regime that was asked for fits."""
        return not any(self.fits.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What has to fit."""

    tables: tuple[Table, ...]
    layout: Layout | None
    step: Step | None
    """The batch through these tables; None when only the tables are counted."""


def budget(size: int, situation: Situation, trainings: Sequence[Training]) -> Budget:
    """Compare needs with a budget, and find what would still fit, regime by regime."""
    needs = {t.regime.name: need(situation, t) for t in trainings}
    rows = {t.regime.name: _largest_rows(size, situation, t) for t in trainings}
    tokens = {t.regime.name: _largest_tokens(size, situation, t) for t in trainings}
    return Budget(
        bytes=size,
        needs=needs,
        fits={name: bytes_needed <= size for name, bytes_needed in needs.items()},
        largest_vocab_size=rows,
        largest_batch_tokens=None if situation.step is None else tokens,
    )


def _largest_rows(size: int, situation: Situation, training: Training) -> int:
    return _largest(lambda rows: need(_with_rows(situation, rows), training) <= size)


def _largest_tokens(size: int, situation: Situation, training: Training) -> int:
    if situation.step is None:
        return 0
    return _largest(lambda tokens: need(_with_tokens(situation, tokens), training) <= size)


def need(situation: Situation, training: Training) -> int:
    """Bytes of the layer (on its fullest rank) and of the batch: ids, vectors, logits."""
    tables, layout, step = situation.tables, situation.layout, situation.step
    size = (
        total_bytes(tables, training).total
        if layout is None
        else largest_rank(tables, training, layout)
    )
    if step is None:
        return size
    return size + step.batch.tokens * ID_BYTES + sum(lookup_and_logits(step, training.regime))


def _with_rows(situation: Situation, rows: int) -> Situation:
    tables = with_rows(situation.tables, rows)
    step = situation.step
    if step is not None:
        delta = rows - token_rows(situation.tables)
        head = step.head and Head(max(1, step.head.rows + delta), step.head.width)
        step = replace(step, rows=rows, head=head)
    return replace(situation, tables=tables, step=step)


def _with_tokens(situation: Situation, tokens: int) -> Situation:
    step = situation.step
    return replace(situation, step=step and replace(step, batch=Batch(tokens, 1)))


def _largest(fits: Callable[[int], bool]) -> int:
    """The largest number that fits, by bisection: needs only ever grow; 0 where 1 is too many."""
    low, high = 0, SEARCH_LIMIT
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
