"""Rows that point the same way share a signature: neighbours without comparing all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.core.dtypes import DType
from embcalc.rows.kernels import Floats, Kernels

MIN_WIDTH = 16
"""Below this width unrelated rows point the same way by chance."""
_COLUMNS = 256
_BANDS = 3
_PER_BAND = 8
_CELL = 0.5
"""Side of a cell, where a direction's coordinate has standard deviation about 1.

Two rows of cosine 0.9999 differ by 0.014 of that in each coordinate: they share all 8 cells of a
band with probability 0.83, one of the 3 bands with 0.995. Unrelated rows share a band with 1e-7.
"""


class SignatureMaker:
    """Locality-sensitive hashing by random projections onto a grid (Datar et al. 2004)."""

    def __init__(self, rows: int, width: int, kernels: Kernels) -> None:
        step = max(1, width // _COLUMNS)
        self._columns = slice(0, min(width, step * _COLUMNS), step)
        count = len(range(width)[self._columns])
        random = np.random.default_rng(0x5EED)
        directions = random.standard_normal((_BANDS * _PER_BAND, count)) * (width / count) ** 0.5
        self._offsets = random.random(_BANDS * _PER_BAND)
        self._factors = random.integers(
            1, 1 << 63, _BANDS * _PER_BAND, dtype=np.uint64
        ) | np.uint64(1)
        self._dots = kernels.dots(directions, coarse=True)
        self._projections = np.zeros((rows, _BANDS * _PER_BAND), dtype=np.float32)

    @classmethod
    def build(cls, rows: int, width: int, dtype: DType, kernels: Kernels) -> SignatureMaker | None:
        """None where the table is too narrow or the dtype packs several numbers in a byte."""
        if width < MIN_WIDTH or dtype.bits < 8 or dtype.bits % 8:
            return None
        return cls(rows, width, kernels)

    def add(self, here: slice, values: NDArray[Any]) -> None:
        """Project carried rows."""
        self._projections[here] = self._dots(np.ascontiguousarray(values[:, self._columns]))

    def finish(self, norms: Floats) -> NDArray[np.uint64]:
        """Signatures `[rows, bands]`, once all norms are known."""
        with np.errstate(divide="ignore", invalid="ignore"):
            cells = self._projections / (norms[:, None] * _CELL) + self._offsets
        cells = np.nan_to_num(np.floor(cells), nan=0.0, posinf=0.0, neginf=0.0)
        mixed = cells.astype(np.int64).view(np.uint64) * self._factors
        signatures: NDArray[np.uint64] = np.add.reduce(
            mixed.reshape(len(norms), _BANDS, _PER_BAND), axis=2
        )
        return signatures
