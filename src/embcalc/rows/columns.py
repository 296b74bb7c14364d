"""The dimensions of a table: which are dead, which are far larger than the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embcalc.core.blocks import BLOCK_BYTES, RowBlock
from embcalc.core.dtypes import DType
from embcalc.rows.kernels import Floats, decoded

_FULL_BYTES = 64 << 20
"""Tables up to this size give all their rows."""
_PART_NUMBERS = 1 << 21
"""Of a larger table so many numbers count, in rows evenly spread over it."""
_OUTLIER = 6.0
"""A dimension stands out when its root mean square is this many times the median one."""
_LEAST_ROWS = 64
"""Fewer rows say little about their dimensions."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Root mean square and mean of every dimension, `[width]` each, over `rows` rows."""

    rows: int
    """Rows that were counted: all finite ones of a table up to 64 MiB, a spread sample above."""
    rms: Floats
    mean: Floats

    @property
    def element_mean(self) -> float | None:
        """Mean of all numbers counted; None for none."""
        return float(self.mean.mean()) if self.rows and len(self.mean) else None

    @property
    def dead(self) -> NDArray[np.int64]:
        """Dimensions that are 0 in every row counted."""
        if self.rows == 0 or not self.rms.any():
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self.rms == 0)

    @property
    def outliers(self) -> NDArray[np.int64]:
        """Dimensions whose root mean square is over 6 times the median one, largest first."""
        alive = self.rms[self.rms > 0]
        if len(alive) == 0 or self.rows < _LEAST_ROWS:
            return np.empty(0, dtype=np.int64)
        found = np.flatnonzero(self.rms > _OUTLIER * np.median(alive))
        return found[np.argsort(-self.rms[found], kind="stable")]


class ColumnSums:
    """Sums over the rows of a pass."""

    def __init__(self, rows: int, width: int, dtype: DType) -> None:
        size = dtype.nbytes(rows * width)
        self._every = 1 if size <= _FULL_BYTES else max(1, rows * width // _PART_NUMBERS)
        self._dtype = dtype
        self._group = max(1, BLOCK_BYTES // max(1, dtype.nbytes(width)))
        self._rows = 0
        self._sum = np.zeros(width)
        self._square = np.zeros(width)

    def add(self, block: RowBlock, nonfinite: NDArray[np.bool_]) -> None:
        """Take in a block, or pass over it."""
        if not self._wanted(block.start, block.start + len(block.values)):
            return
        rows = np.arange(block.start, block.start + len(block.values))
        # By row number, so that neither threads nor block sizes change who counts.
        chosen = (rows // self._group % self._every == 0) & ~nonfinite
        values = block.values if chosen.all() else block.values[chosen]
        for _, numbers in decoded(values, self._dtype):
            self._add(numbers)

    def _wanted(self, start: int, stop: int) -> bool:
        """Whether any of these rows is in a group that counts."""
        first, last = start // self._group, (stop - 1) // self._group
        return last - last % self._every >= first

    def _add(self, numbers: Floats) -> None:
        self._rows += len(numbers)
        self._sum += np.add.reduce(numbers, axis=0)
        with np.errstate(over="ignore", under="ignore"):
            self._square += np.add.reduce(np.square(numbers), axis=0)

    def merge(self, other: ColumnSums) -> None:
        """Take in the sums of another part of the table."""
        self._rows += other._rows
        self._sum += other._sum
        self._square += other._square

    def finish(self) -> Columns:
        """The statistics."""
        rows = max(1, self._rows)
        return Columns(self._rows, np.sqrt(self._square / rows), self._sum / rows)
