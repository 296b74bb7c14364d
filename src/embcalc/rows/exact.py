"""float64, asked again where fast kernels cannot be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.core.dtypes import DType
from embcalc.rows.kernels import SAFE_NORMS, Floats, Kernels, row_lengths, to_float64


def row_norms(
    values: NDArray[Any], dtype: DType, kernels: Kernels
) -> tuple[Floats, NDArray[np.bool_]]:
    """Norms of carried rows, and which rows hold a NaN or an infinity.

    Every fast norm that is 0, not finite or outside `SAFE_NORMS` is computed again in float64.

    Returns:
        Norms `[n]` (NaN or infinite for a row that is not finite) and a mask `[n]`.
    """
    norms = kernels.norms(values)
    low, high = SAFE_NORMS
    doubtful = ~((norms > low) & (norms < high))
    nonfinite = np.zeros(len(norms), dtype=np.bool_)
    if doubtful.any():
        asked = np.flatnonzero(doubtful)
        norms = np.array(norms)
        norms[asked], nonfinite[asked] = exact_norms(to_float64(values[asked], dtype))
    return norms, nonfinite


def exact_norms(numbers: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Norms that neither underflow nor overflow on the way: each row is scaled by its largest.

    Returns:
        Norms `[n]` and the mask `[n]` of rows with a NaN or an infinity.
    """
    nonfinite = np.zeros(len(numbers), dtype=np.bool_)
    np.any(~np.isfinite(numbers), axis=1, out=nonfinite)
    scaled, scale = scaled_rows(numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        norms: Floats = row_lengths(scaled) * scale
    return norms, nonfinite


def scaled_rows(numbers: Floats) -> tuple[Floats, Floats]:
    """Divide each row by a power of two, without rounding, so that its largest number is near 1.

    Returns:
        The rows `[n, width]` and what they were divided by, `[n]`: 1 for a row that is zero or
        not finite.
    """
    largest = np.abs(numbers).max(axis=1, initial=0.0)
    scale = np.ones_like(largest)
    usable = np.isfinite(largest) & (largest > 0)
    scale[usable] = np.exp2(np.clip(np.floor(np.log2(largest[usable])), -1000, 1000))
    with np.errstate(over="ignore", invalid="ignore"):
        return numbers / scale[:, None], scale
