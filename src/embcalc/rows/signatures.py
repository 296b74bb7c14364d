"""Rows that point the same way share a signature: neighbours without comparing all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from embcalc.core.dtypes import DType
from embcalc.rows.kernels import Floats, Kernels

MIN_WIDTH = 16
"""Below this width unrelated rows point the same way by chance."""
_COLUMNS = 128
_RUNS = 4
_BANDS = 3
_PER_BAND = 8
COORDINATES = _BANDS * _PER_BAND
"""Directions that a row is multiplied with."""
_AT_ONCE = 1024
"""Rows that are signed at once."""
_CELL = 0.5
"""Side of a cell, where a direction's coordinate has standard deviation about 1.

Two rows of cosine 0.9999 differ by 0.014 of that in each coordinate: they share all 8 cells of a
band with probability 0.83, one of the 3 bands with 0.995. Unrelated rows share a band with 1e-7.
"""


@dataclass(frozen=True, slots=True)
class Signatures:
    """What is remembered of the direction of every row."""

    bands: NDArray[np.uint64]
    """`[rows, bands]`: rows that point the same way share one of them."""
    coordinates: NDArray[np.float32]
    """`[rows, 24]`: the unit row's products with random directions, each of variance 1."""

    def apart(self, row: int, others: NDArray[np.int64]) -> NDArray[np.float32]:
        """Estimated distances of a unit row to others, to about 15%."""
        difference = self.coordinates[others] - self.coordinates[row]
        estimate: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
        return estimate / np.float32(difference.shape[1] ** 0.5)


def _spread(width: int) -> tuple[int, int, int]:
    """Columns that lie spread over a row, as runs of whole cache lines, so that few are touched.

    Returns:
        How many runs, the columns from the start of one to that of the next, columns of a run.
    """
    if width <= _COLUMNS:
        return 1, width, width
    run = _COLUMNS // _RUNS
    step = (width - run) // (_RUNS - 1)
    return _RUNS, step - step % run, run


class SignatureMaker:
    """Locality-sensitive hashing by random projections onto a grid (Datar et al. 2004)."""

    def __init__(self, rows: int, width: int, kernels: Kernels) -> None:
        self._spread = _spread(width)
        runs, _, run = self._spread
        random = np.random.default_rng(0x5EED)
        directions = random.standard_normal((COORDINATES, runs * run))
        self._offsets = random.random(COORDINATES).astype(np.float32)
        self._sketch = kernels.sketch(directions * (width / (runs * run)) ** 0.5)
        self._coordinates = np.zeros((rows, COORDINATES), dtype=np.float32)
        self._bands = np.zeros((rows, _BANDS), dtype=np.uint64)

    @classmethod
    def build(cls, rows: int, width: int, dtype: DType, kernels: Kernels) -> SignatureMaker | None:
        """None where the table is too narrow, or a stored scalar is not one number."""
        if width < MIN_WIDTH or dtype.bits < 8 or dtype.bits % 8 or dtype.kind == "complex":
            return None
        return cls(rows, width, kernels)

    def project(self, here: slice, values: NDArray[Any]) -> None:
        """Take in carried rows `[n, columns]`; `here` says which they are."""
        runs, step, run = self._spread
        row, column = values.strides
        spread = as_strided(
            values, (len(values), runs, run), (row, step * column, column), writeable=False
        )
        columns = np.ascontiguousarray(spread).reshape(len(values), -1)
        with np.errstate(over="ignore", invalid="ignore"):
            self._coordinates[here] = self._sketch(columns)

    def sign(self, rows: range, norms: Floats) -> None:
        """Make signatures of rows that were taken in, all norms `[n]` being known by then."""
        for start in range(rows.start, rows.stop, _AT_ONCE):
            here = slice(start, min(start + _AT_ONCE, rows.stop))
            self._sign(here, norms[here])

    def _sign(self, here: slice, norms: Floats) -> None:
        # Rows without a direction get coordinates of 0.
        lengths = np.where((norms > 0) & np.isfinite(norms), norms, np.inf)
        unit = self._coordinates[here]
        with np.errstate(over="ignore", invalid="ignore"):
            np.multiply(unit, (1.0 / lengths)[:, None], out=unit, casting="same_kind")
            lost = ~np.isfinite(unit @ np.ones(unit.shape[1], dtype=np.float32))
        unit[lost] = 0
        cells = unit * np.float32(1 / _CELL)
        cells += self._offsets
        # The cells of a band side by side in one word. Those that are 256 apart look alike, which
        # makes rows candidates that are none, and no more.
        whole = np.floor(cells, out=cells).astype(np.int32).astype(np.int8)
        self._bands[here] = whole.view(np.uint64)

    def finish(self) -> Signatures:
        """Signatures of all rows."""
        return Signatures(self._bands, self._coordinates)
