"""The single numbers of a table."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.core.dtypes import DType
from embcalc.rows.columns import Columns
from embcalc.rows.kernels import Floats, decoded, to_float64

_LARGE_MEAN = 0.1
"""Part of the mean square above which the square of the mean takes digits from the variance."""


@dataclass(frozen=True, slots=True)
class Elements:
    """Over all numbers of the finite rows; None where there are none."""

    mean: float | None
    """Of a table over 64 MiB: from rows spread over it, as for its columns."""
    std: float | None
    """Population standard deviation."""
    absmax: float
    """Largest magnitude of all finite numbers."""

    @classmethod
    def from_rows(cls, norms: Floats, columns: Columns, width: int, absmax: float) -> Elements:
        """Put together from row norms `[n]` and the columns: variance = mean square - mean².

        Norms are of all rows, and good to 1e-6. Where a large mean leaves too little of that, the
        rows that count for the columns tell, whose sums are float64.
        """
        count, mean = len(norms) * width, columns.element_mean
        if count == 0 or mean is None:
            return cls(None, None, absmax)
        with np.errstate(over="ignore"):
            square = float(np.square(norms).sum()) / count
            if mean * mean > _LARGE_MEAN * square:
                square = float(np.square(columns.rms).mean())
            return cls(mean, sqrt(max(0.0, square - mean * mean)), absmax)


_INFINITY = {"BF16": 0x7F80, "F16": 0x7C00, "F8_E4M3": 0x7F, "F8_E5M2": 0x7C}
"""The least bits, sign aside, of what is no finite number. E4M3 has no infinity, only NaN."""


def block_absmax(values: NDArray[Any], dtype: DType) -> float:
    """Largest magnitude among the finite numbers of carried values; 0 for none.

    Formats with sign and magnitude are compared as integers, nothing decoded.
    """
    if values.size == 0:
        return 0.0
    if dtype.name in _INFINITY:
        size = values.dtype.itemsize
        bits = values.view(f"u{size}")
        # The largest as a signed number is the largest positive one, as unsigned the lowest.
        unsigned = int(bits.max()) & (0x7F if size == 1 else 0x7FFF)
        largest = max(int(bits.view(f"i{size}").max()), unsigned)
        if largest < _INFINITY[dtype.name]:
            one = np.array([[largest]], dtype=bits.dtype).view(values.dtype)
            return float(to_float64(one, dtype)[0, 0])
    elif dtype.name in ("F32", "F64") or dtype.kind in ("int", "bool"):
        number = max(float(values.max()), -float(values.min()))
        if np.isfinite(number):
            return number
    most = 0.0
    for _, numbers in decoded(values, dtype):
        sizes = np.abs(numbers)
        most = max(most, float(sizes.max(where=np.isfinite(sizes), initial=0.0)))
    return most
