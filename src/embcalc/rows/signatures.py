"""Rows that point the same way share a signature: neighbours without comparing all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.core.dtypes import DType
from embcalc.rows.kernels import Floats, Kernels

MIN_WIDTH = 16
"""Below this width unrelated rows point the same way by chance."""
_COLUMNS = 128
_RUNS = 4
_BANDS = 3
_PER_BAND = 8
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


def _spread(width: int) -> list[slice]:
    """Runs of columns that lie spread over a row: whole cache lines, so that few are touched."""
    if width <= _COLUMNS:
        return [slice(0, width)]
    run = _COLUMNS // _RUNS
    starts = (part * (width - run) // (_RUNS - 1) for part in range(_RUNS))
    return [slice(start, start + run) for start in starts]


class SignatureMaker:
    """Locality-sensitive hashing by random projections onto a grid (Datar et al. 2004)."""

    def __init__(self, rows: int, width: int, kernels: Kernels) -> None:
        self._columns = _spread(width)
        count = sum(part.stop - part.start for part in self._columns)
        random = np.random.default_rng(0x5EED)
        directions = random.standard_normal((_BANDS * _PER_BAND, count)) * (width / count) ** 0.5
        self._offsets = random.random(_BANDS * _PER_BAND).astype(np.float32)
        self._factors = random.integers(
            1, 1 << 63, _BANDS * _PER_BAND, dtype=np.uint64
        ) | np.uint64(1)
        self._dots = kernels.dots(directions, coarse=True)
        self._coordinates = np.zeros((rows, _BANDS * _PER_BAND), dtype=np.float32)
        self._bands = np.zeros((rows, _BANDS), dtype=np.uint64)

    @classmethod
    def build(cls, rows: int, width: int, dtype: DType, kernels: Kernels) -> SignatureMaker | None:
        """None where the table is too narrow or the dtype packs several numbers in a byte."""
        if width < MIN_WIDTH or dtype.bits < 8 or dtype.bits % 8:
            return None
        return cls(rows, width, kernels)

    def columns(self, values: NDArray[Any]) -> NDArray[Any]:
        """The columns of carried rows that signatures are made of, copied."""
        return np.concatenate([values[:, part] for part in self._columns], axis=1)

    def add(self, here: slice, columns: NDArray[Any], norms: Floats) -> None:
        """Sign some rows; many at once, for the calls cost more than the rows do.

        Args:
            here: which rows they are.
            columns: of them, from `columns`.
            norms: of them `[n]`.
        """
        # Rows without a direction get coordinates of 0.
        lengths = np.where((norms > 0) & np.isfinite(norms), norms, np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            unit = (self._dots(columns) * (1.0 / lengths)[:, None]).astype(np.float32)
        unit[~np.isfinite(unit).all(axis=1)] = 0
        self._coordinates[here] = unit
        cells = np.floor(unit * np.float32(1 / _CELL) + self._offsets).astype(np.int32)
        mixed = cells.astype(np.uint64) * self._factors
        self._bands[here] = np.add.reduce(mixed.reshape(-1, _BANDS, _PER_BAND), axis=2)

    def finish(self) -> Signatures:
        """Signatures of all rows."""
        return Signatures(self._bands, self._coordinates)
