"""Short floats made longer, which they lose nothing by: 8 bits to 16, 8 and 16 bits to 32.

Where a processor has no instruction for 8-bit floats, kernels that decode them take two to twenty
times as long as two passes of integer arithmetic and a kernel for float16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from embcalc.rows.scratch import scratch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embcalc.core.dtypes import DType

    Hidden = NDArray[np.bool_] | None

WIDER = {"F8_E4M3": "F16", "F8_E5M2": "F16"}
"""Dtypes that `widened` takes, and what it makes of them."""
UNITS = {"F8_E4M3": 2.0**-8, "F8_E5M2": 1.0}
"""What a number is multiplied by on the way."""


SHORT = ("BF16", "F16", *WIDER)
"""Dtypes that `short_floats` takes."""


def widened(values: NDArray[Any], dtype: DType) -> tuple[NDArray[np.float16], Hidden]:
    """Widen carried 8-bit floats to float16, without rounding, times `UNITS`.

    E5M2 is float16 without its last byte. E4M3 has one bit more of fraction and one less of
    exponent: its bits begin one place further right below the sign, where they mean 2^-8 of what
    they meant, subnormal numbers included. Only its NaN, all ones, would pass for a number.

    Args:
        values: `[rows, columns]` bytes.
        dtype: a key of `WIDER`.

    Returns:
        `[rows, columns]` in scratch memory, and the rows `[rows]` that hold a NaN which does not
        show; None for none.
    """
    signed = values.view(np.int8)
    bits = scratch(values.shape, np.int16)
    if dtype.name == "F8_E5M2":
        np.multiply(signed, np.int16(1 << 8), out=bits, dtype=np.int16)
        return bits.view(np.float16), None
    # The sign fills what lies above it; the bit below it is none of the number's.
    np.multiply(signed, np.int16(1 << 7), out=bits, dtype=np.int16)
    bits &= np.int16(~(1 << 14))
    return bits.view(np.float16), _hidden(values, signed)


def _hidden(values: NDArray[Any], signed: NDArray[np.int8]) -> Hidden:
    """Rows with a NaN of E4M3: all ones, so the largest of bytes with a sign or without."""
    if signed.max(initial=0) < 0x7F and values.max(initial=0) < 0xFF:
        return None
    found: NDArray[np.bool_] = (signed == 0x7F).any(axis=1) | (values == 0xFF).any(axis=1)
    return found


def short_floats(values: NDArray[Any], dtype: DType) -> NDArray[np.float32]:
    """Widen carried numbers of at most 16 bits to float32, without rounding, times `UNITS`.

    Args:
        values: `[rows, columns]`, aligned.
        dtype: one of `SHORT`.

    Returns:
        `[rows, columns]` in scratch memory.
    """
    if dtype.name == "BF16":
        bits = scratch(values.shape, np.uint32)
        np.multiply(values, np.uint32(1 << 16), out=bits, dtype=np.uint32)
        return bits.view(np.float32)
    import numkong

    hidden: Hidden = None
    if dtype.name in WIDER:
        values, hidden = widened(values, dtype)
    # Three times as fast as numpy's own.
    wide = scratch(values.shape, np.float32)
    numkong.astype(values, "f32", out=wide)
    if hidden is not None:
        wide[hidden] = np.nan
    return wide
