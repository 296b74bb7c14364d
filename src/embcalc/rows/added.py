"""What rows that were added to a table look like: untouched, or moved."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from embcalc.core.decode import to_float64
from embcalc.core.reports.diff import AddedRows
from embcalc.rows.exact import exact_norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embcalc.core.blocks import RowBlock
    from embcalc.rows.diff import Spread

AT_MEAN = 0.02
"""Distance from the mean, in units of the old rows' own, below which a row sits at the mean.

transformers draws new rows around the mean with 1e-9 of the covariance, 3e-5 of that distance.
"""


@dataclass(slots=True)
class AddedTally:
    """Sorts added rows by what they look like."""

    old: Spread
    """Of the rows that were there before."""
    zero: int = 0
    at_mean: int = 0
    repeated: int = 0
    elsewhere: int = 0
    norms: list[float] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)

    def add(self, block: RowBlock) -> None:
        """Sort the rows of a block."""
        values = to_float64(block.values, block.dtype)
        norms, _ = exact_norms(values)
        self.norms.extend(norms[np.isfinite(norms)].tolist())
        near = self._near_mean(values, block.dtype.name)
        for row, norm, at_mean in zip(block.values, norms, near, strict=True):
            self._sort(row, zero=norm == 0, at_mean=bool(at_mean))

    def _near_mean(self, values: NDArray[Any], dtype: str) -> NDArray[np.bool_]:
        mean = self.old.mean
        size = float(np.sqrt(mean @ mean))
        # A stored mean is rounded to the dtype: up to 2^-8 of its size for BF16.
        coarse = {"BF16": 2.0**-8, "F16": 2.0**-11}.get(dtype, 2.0**-23)
        with np.errstate(invalid="ignore", over="ignore"):
            away = np.sqrt(np.square(values - mean).sum(axis=1))
        near: NDArray[np.bool_] = away <= AT_MEAN * self.old.distance + coarse * size
        return near

    def _sort(self, row: NDArray[Any], *, zero: bool, at_mean: bool) -> None:
        key = blake2b(row.tobytes(), digest_size=16).digest()
        if zero:
            self.zero += 1
        elif at_mean:
            self.at_mean += 1
        elif key in self.seen:
            self.repeated += 1
        else:
            self.elsewhere += 1
            self.seen.add(key)

    def result(self) -> AddedRows:
        """Say what was found."""
        return AddedRows(
            count=self.zero + self.at_mean + self.repeated + self.elsewhere,
            zero=self.zero,
            at_mean=self.at_mean,
            repeated=self.repeated,
            elsewhere=self.elsewhere,
            median_norm=float(np.median(self.norms)) if self.norms else float("nan"),
            mean_distance=self.old.distance,
        )
