"""The average row of a table, in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from embcalc.rows.parallel import RowPass, in_threads
from embcalc.rows.select import aligned_rows, numbers, small_blocks
from embcalc.rows.widened import SHORT, UNITS, short_floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embcalc.core.blocks import RowBlock

    Floats = NDArray[np.float64]

_TOGETHER = 8
"""Rows of a short format that are added up in float32 before float64 takes over."""
_MANY_ROWS = 1 << 16
"""Rows from which on that is done.

BF16 has 16 bits fewer than float32, F16 has 13: a sum of eight loses nothing unless its numbers lie
that many powers of two apart, and then 2^-24 of itself. Over so many rows of normal numbers the
mean comes out within 1e-11 of their size.
"""
_PIECE = 1 << 19
"""Numbers that are widened at once, to 2 MB of float32: fewer, and threads would wait for the lock
of the interpreter; more, and they would wait for memory."""


def mean_row(rows: RowPass) -> Floats:
    """Average the finite rows of a table.

    Raises:
        CheckpointError: the values cannot be had.
        ValueError: there is no finite row.
    """
    together = _TOGETHER if sum(map(len, rows.shares)) >= _MANY_ROWS else 1

    def share(part: range) -> tuple[Floats, int]:
        return _share_sum(rows.stream(part), together)

    parts = in_threads(share, rows.shares, rows.workers)
    count = sum(counted for _, counted in parts)
    if count == 0:
        raise ValueError("no finite row")
    totals = [total for total, counted in parts if counted]
    return np.asarray(np.sum(totals, axis=0) / count, np.float64)


def _share_sum(blocks: Iterable[RowBlock], together: int) -> tuple[Floats, int]:
    """Sum and count of the finite rows."""
    total: Floats = np.zeros(())
    count = 0
    for block in blocks:
        with np.errstate(over="ignore", invalid="ignore"):
            part = _block_sum(block, together)
        counted = len(block.values)
        if not np.isfinite(part).all():
            # One number that is not finite spoils the sum of its column.
            part, counted = _finite_sum(block)
        total = total + part
        count += counted
    return total, count


def _block_sum(block: RowBlock, together: int) -> Floats:
    total: Floats = np.zeros(())
    if block.dtype.name not in SHORT:
        for part in small_blocks((block,)):
            total = total + numbers(part.values, part.dtype).sum(axis=0, dtype=np.float64)
        return total
    values = aligned_rows(block.values)
    step = together * max(1, _PIECE // max(1, together * values.shape[1]))
    for at in range(0, len(values), step):
        wide = short_floats(values[at : at + step], block.dtype)
        whole = len(wide) // together * together if together > 1 else 0
        groups = wide[:whole].reshape(-1, together, values.shape[1]).sum(axis=1)
        total = total + groups.sum(axis=0, dtype=np.float64)
        total += wide[whole:].sum(axis=0, dtype=np.float64)
    return total / UNITS.get(block.dtype.name, 1.0)


def _finite_sum(block: RowBlock) -> tuple[Floats, int]:
    total: Floats = np.zeros(())
    count = 0
    for part in small_blocks((block,)):
        values = numbers(part.values, part.dtype)
        values = values[np.isfinite(values).all(axis=1)]
        total = total + values.sum(axis=0, dtype=np.float64)
        count += len(values)
    return total, count
