"""Rows kept of a table, evenly spread over it, to look for collapsed clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.core.dtypes import DType
from embcalc.rows.kernels import Floats, row_lengths, to_float64

SAMPLE_ROWS = 512
"""Rows that are kept at least, of a table that has them."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows as they are stored; finite and not zero."""

    rows: NDArray[np.int64]
    """Their numbers `[n]`, ascending."""
    values: NDArray[Any]
    """Carried values `[n, columns]`."""
    dtype: DType

    def __len__(self) -> int:
        return len(self.rows)

    def units(self, chosen: NDArray[np.int64], step: int = 1) -> Floats:
        """Unit vectors of chosen places of the sample, from every `step`-th column.

        Where those columns of a row are all 0, so is the vector.
        """
        numbers = to_float64(self.values[chosen][:, ::step], self.dtype)
        # Scaled first: squares of numbers near the ends of a dtype neither overflow nor vanish.
        largest = np.abs(numbers).max(axis=1, initial=0.0)[:, None]
        scaled = numbers / np.where(largest > 0, largest, 1.0)
        lengths = row_lengths(scaled)[:, None]
        unit: Floats = scaled / np.where(lengths > 0, lengths, 1.0)
        return unit


Kept = tuple[range, NDArray[Any]]
"""Numbers of some rows, and their carried values."""


def every_so_many(start: int, values: NDArray[Any], step: int) -> Kept | None:
    """Copy the rows of a block whose number is a multiple of `step`; None where it has none."""
    first = -start % step
    if first >= len(values):
        return None
    return range(start + first, start + len(values), step), values[first::step].copy()


def joined(kept: Sequence[Kept], norms: Floats, dtype: DType) -> Sample:
    """Put together what was kept, rows without a direction left out.

    Args:
        kept: rows in ascending order.
        norms: of all rows of the table.
        dtype: of the carried values.
    """
    if not kept:
        return Sample(np.empty(0, dtype=np.int64), np.empty((0, 0)), dtype)
    rows = np.concatenate([np.arange(part.start, part.stop, part.step) for part, _ in kept])
    values = np.concatenate([part for _, part in kept])
    usable = np.isfinite(norms[rows]) & (norms[rows] > 0)
    return Sample(rows[usable], values[usable], dtype)
