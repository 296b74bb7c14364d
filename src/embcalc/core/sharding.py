"""ZeRO, FSDP, tensor and pipeline parallel: bytes on one rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from embcalc.core.growth import padded
from embcalc.core.memory import Bytes, Table, Training, is_tied, total_bytes
from embcalc.core.role import Role

VOCABULARY_DIVISOR = 128
"""Megatron-LM's `--make-vocab-size-divisible-by`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a model is spread over ranks."""

    zero_stage: int = 0
    """1 shards optimizer states and master weights, 2 also gradients, 3 (FSDP) also weights."""
    data_parallel: int = 1
    tensor_parallel: int | None = None
    """Ranks that each hold a slice of the rows; None pads no rows either."""
    pipeline_parallel: int = 1
    divisor: int = VOCABULARY_DIVISOR


@dataclass(frozen=True, slots=True)
class PerRank:
    """What the ranks hold that have part of the embedding layer."""

    layout: Layout
    padded_rows: int
    """Rows of the whole table after padding for tensor parallel."""
    rows_a_rank: int
    bytes: Mapping[str, int]
    """By regime, of the rank that holds most."""
    first_stage: Mapping[str, int]
    last_stage: Mapping[str, int]
    """Of the pipeline's ends; the same rank without a pipeline."""


def padded_rows(rows: int, layout: Layout) -> int:
    """Rows after padding to a multiple of divisor x tensor-parallel size (Megatron-LM)."""
    if layout.tensor_parallel is None:
        return rows
    return padded(rows, layout.divisor * layout.tensor_parallel)


def per_rank(
    tables: Sequence[Table], trainings: Sequence[Training], layout: Layout, rows: int
) -> PerRank:
    """Bytes of the embedding layer on the ranks that hold it.

    Args:
        tables: the whole layer.
        trainings: one a regime.
        layout: how it is spread.
        rows: rows of the token table before padding.
    """
    first, last = _stages(tables, layout)
    firsts = {t.regime.name: rank_bytes(first, t, layout).total for t in trainings}
    lasts = {t.regime.name: rank_bytes(last, t, layout).total for t in trainings}
    whole = padded_rows(rows, layout)
    return PerRank(
        layout=layout,
        padded_rows=whole,
        rows_a_rank=whole // (layout.tensor_parallel or 1),
        bytes={name: max(size, lasts[name]) for name, size in firsts.items()},
        first_stage=firsts,
        last_stage=lasts,
    )


def largest_rank(tables: Sequence[Table], training: Training, layout: Layout) -> int:
    """Bytes of the rank that holds most."""
    return max(rank_bytes(stage, training, layout).total for stage in _stages(tables, layout))


def _stages(tables: Sequence[Table], layout: Layout) -> tuple[tuple[Table, ...], tuple[Table, ...]]:
    """The tables of the first and the last pipeline stage, sliced for tensor parallel."""
    sliced = tuple(_slice(table, layout) for table in tables)
    if layout.pipeline_parallel == 1:
        return sliced, sliced
    first = tuple(table for table in sliced if table.role is not Role.OUTPUT)
    if not is_tied(sliced):
        return first, tuple(table for table in sliced if table.role is Role.OUTPUT)
    # The head's stage holds a copy of the tied table; gradients of both are added up.
    shared = next(table for table in sliced if table.shared)
    return first, (replace(shared, shared=False),)


def _slice(table: Table, layout: Layout) -> Table:
    ranks = layout.tensor_parallel
    if ranks is None or table.role not in (Role.TOKEN, Role.OUTPUT):
        return table
    rows = padded_rows(table.rows, layout) // ranks
    whole = table.trainable_rows == table.rows
    return replace(
        table, rows=rows, trainable_rows=rows if whole else min(table.trainable_rows, rows)
    )


def rank_bytes(tables: Sequence[Table], training: Training, layout: Layout) -> Bytes:
    """Bytes of these tables on one rank, sharded over its data-parallel group.

    ZeRO flattens parameters and deals them out; the largest share is counted.
    """
    whole = total_bytes(tables, training)
    regime, stage, ranks = training.regime, layout.zero_stage, layout.data_parallel

    def share(size: int, unit: int, from_stage: int) -> int:
        if stage < from_stage or unit == 0:
            return size
        return -(-size // (unit * ranks)) * unit

    def moment(size: int | None) -> int | None:
        return None if size is None else share(size, regime.state, 1)

    return Bytes(
        weights=share(whole.weights, regime.weights, 3),
        gradients=share(whole.gradients, regime.gradients, 2),
        master_weights=share(whole.master_weights, regime.master, 1),
        exp_avg=moment(whole.exp_avg),
        exp_avg_sq=moment(whole.exp_avg_sq),
        other_state=share(whole.other_state, regime.state, 1),
    )
