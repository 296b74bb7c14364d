"""One table of two checkpoints, compared in one pass over both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from embcalc.core.progress import Progress
from embcalc.core.reports.diff import AddedRows, ChangedRow, TableDiff
from embcalc.core.tables import EmbeddingTable
from embcalc.rows.added import AddedTally
from embcalc.rows.diff import (
    Spread,
    aligned,
    changes,
    coarser,
    different_rows,
    exact_changes,
    merged,
    rounded_to,
)
from embcalc.rows.parallel import Meter, in_threads, shares
from embcalc.rows.select import select_rows
from embcalc.usecases.opened import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embcalc.core.blocks import RowBlock
    from embcalc.core.dtypes import DType

SAFETY = 2e-3
"""How far below the last listed change a fast number is asked again in float64."""
MOST_ASKED = 2000
"""Rows asked again at most, where very many changed by the same amount."""


@dataclass(frozen=True, slots=True)
class Side:
    """A table in its model."""

    model: Model
    table: EmbeddingTable


def diff_table(a: Side, b: Side, top: int, progress: Progress) -> TableDiff:
    """Compare a table of both models row by row.

    Raises:
        CheckpointError: the values cannot be had.
        SourceError: a file cannot be read.
    """
    both = min(a.table.rows, b.table.rows)
    comparison = _Comparison(np.zeros(both), np.ones(both))
    comparable = a.table.width == b.table.width
    if comparable:
        comparison.run(a, b, progress)
    deltas = comparison.deltas
    changed = int(np.count_nonzero(deltas))
    return TableDiff(
        role=str(a.table.role),
        tensor_a=a.table.name,
        tensor_b=b.table.name,
        dtype_a=str(a.table.tensor.dtype),
        dtype_b=str(b.table.tensor.dtype),
        compared_as=comparison.dtype or str(coarser(a.table.tensor.dtype, b.table.tensor.dtype)),
        rows_a=a.table.rows,
        rows_b=b.table.rows,
        width_a=a.table.width,
        width_b=b.table.width,
        identical_rows=both - changed if comparable else 0,
        changed_rows=changed if comparable else both,
        added_rows=max(0, b.table.rows - both),
        removed_rows=max(0, a.table.rows - both),
        nonfinite_rows=int(np.count_nonzero(np.isinf(deltas))),
        most_changed=_most_changed(a, b, comparison, top) if comparable and changed else (),
        added=comparison.added,
        delta_norms=deltas,
        cosines=comparison.cosines,
    )


@dataclass(slots=True)
class _Comparison:
    deltas: NDArray[np.float64]
    """Zero where rows are identical."""
    cosines: NDArray[np.float64]
    dtype: str | None = None
    target: DType | None = None
    added: AddedRows | None = None

    def run(self, a: Side, b: Side, progress: Progress) -> None:
        """Pass over both tables once: the common rows in threads, then the added ones."""
        both, grows = len(self.deltas), b.table.rows > a.table.rows
        row_bytes = [side.table.tensor.dtype.nbytes(side.table.width) for side in (a, b)]
        total = sum(row_bytes) * both + row_bytes[1] * (b.table.rows - both)
        meter = Meter(a.table.name, max(both, b.table.rows), total, progress)

        def share(rows: range) -> Spread:
            spread = Spread(np.zeros(a.table.width))
            for pair in aligned(a.model.blocks(a.table, rows), b.model.blocks(b.table, rows)):
                if pair.a is None or pair.b is None:
                    continue
                if grows:
                    spread.add(pair.a)
                self._compare(pair.start, pair.a, pair.b)
                meter.add(len(pair.a.values))
            return spread

        workers = min(a.model.workers, b.model.workers)
        spreads = in_threads(share, shares(both, sum(row_bytes), workers), workers)
        if grows:
            old = merged(spreads, a.table.width)
            self.added = _added(b, range(both, b.table.rows), old, meter)

    def _compare(self, start: int, a: RowBlock, b: RowBlock) -> None:
        # Every block gives the same target, so that it does not matter which thread sets it.
        target = self.target = self.target or coarser(a.dtype, b.dtype)
        self.dtype = str(target)
        left, right = rounded_to(a, target), rounded_to(b, target)
        rows = different_rows(left, right)
        if not len(rows):
            return
        if len(rows) < len(left):
            left, right = left[rows], right[rows]
        deltas, cosines = changes(left, right, target)
        self.deltas[rows + start] = deltas
        self.cosines[rows + start] = cosines


def _added(b: Side, rows: range, old: Spread, meter: Meter) -> AddedRows | None:
    tally = AddedTally(old)
    for block in b.model.blocks(b.table, rows):
        tally.add(block)
        meter.add(len(block.values))
    return tally.result()


def _most_changed(a: Side, b: Side, comparison: _Comparison, top: int) -> tuple[ChangedRow, ...]:
    """The rows that moved farthest, measured again in float64."""
    candidates = _candidates(comparison.deltas, top)
    values = [_decoded(side, candidates, comparison.target) for side in (a, b)]
    deltas, cosines = exact_changes(values[0], values[1])
    comparison.deltas[candidates], comparison.cosines[candidates] = deltas, cosines
    order = np.lexsort((candidates, -deltas))[:top]
    named = (b if b.model.vocabulary is not None else a).model.naming(b.table)
    return tuple(
        ChangedRow(
            row=int(candidates[index]),
            text=named.text(int(candidates[index])),
            shown=named.shown(int(candidates[index])),
            delta_norm=float(deltas[index]),
            cosine=float(cosines[index]),
        )
        for index in order
    )


def _candidates(deltas: NDArray[np.float64], top: int) -> NDArray[np.int64]:
    changed = np.flatnonzero(deltas)
    order: NDArray[np.int64] = changed[np.lexsort((changed, -deltas[changed]))]
    if top >= len(order):
        return order
    bar = deltas[order[top - 1]] * (1 - SAFETY)
    near: NDArray[np.int64] = order[deltas[order] >= bar]
    return near[: top + MOST_ASKED]


def _decoded(side: Side, rows: NDArray[np.int64], target: DType | None) -> NDArray[Any]:
    """Rows in float64, rounded to the dtype that both were compared in."""
    from embcalc.core.blocks import RowBlock
    from embcalc.core.decode import to_float64

    tensor = side.table.tensor
    row_bytes = tensor.dtype.nbytes(side.table.width)
    read = partial(side.model.blocks, side.table)
    values = select_rows(read, rows.tolist(), row_bytes)
    if target is None or str(tensor.dtype) == str(target):
        return values.astype(np.float64)
    from embcalc.core.dtypes import BY_NAME

    wide = BY_NAME["F64" if values.dtype == np.float64 else "F32"]
    return to_float64(rounded_to(RowBlock(0, values, wide), target), target)
