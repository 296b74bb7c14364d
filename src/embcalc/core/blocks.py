"""Rows of a table, a few at a time: what readers yield and what row statistics take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from embcalc.core.dtypes import DType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK_BYTES = 1 << 18
"""Bytes of a block of rows: small enough to stay in a core's cache, large enough to amortise
the call."""
_STORED_BYTES, _STORED_SCALARS = 2 << 20, 1 << 20
"""A block of values that are taken as they are stored has at least so many of either.

Nothing is decoded that would have to stay in the cache of one core, so it may fill a part of the
cache that all share: what threads lose by waiting for the lock of the interpreter, they lose by the
block.
"""


def stored_bytes(bits: int) -> int:
    """Bytes of a block of scalars of so many bits whose values are taken as they are stored."""
    return max(_STORED_BYTES, _STORED_SCALARS * bits // 8) if bits >= 8 else BLOCK_BYTES


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some consecutive rows of one tensor.

    `values` is `[rows, columns]`. Formats that numpy knows come as themselves (float32, float16,
    float64, integers); others as their bits: BF16 in uint16, 8-bit floats in uint8, sub-byte
    formats as packed uint8 bytes. `embcalc.core.decode` turns any of them into numbers. A
    quantised format that a reader dequantises comes as float32, and `dtype` says F32.
    """

    start: int
    """Row number of the first row."""
    values: NDArray[np.generic]
    dtype: DType
