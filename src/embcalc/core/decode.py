"""From stored bits to numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.core.dtypes import DType

CARRIERS: dict[str, str] = {
    "BOOL": "u1",
    "U8": "u1",
    "I8": "i1",
    "I16": "<i2",
    "U16": "<u2",
    "I32": "<i4",
    "U32": "<u4",
    "I64": "<i8",
    "U64": "<u8",
    "F16": "<f2",
    "BF16": "<u2",
    "F32": "<f4",
    "F64": "<f8",
    "C64": "<c8",
    "F8_E5M2": "u1",
    "F8_E4M3": "u1",
    "F8_E8M0": "u1",
    "F8_E4M3FNUZ": "u1",
    "F8_E5M2FNUZ": "u1",
    "F6_E2M3": "u1",
    "F6_E3M2": "u1",
    "F4": "u1",
}
"""The numpy type that carries the stored scalars of a dtype, little endian.

Formats below 8 bits are carried as the packed bytes."""

_ML_DTYPES = {
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F6_E2M3": "float6_e2m3fn",
    "F6_E3M2": "float6_e3m2fn",
    "F4": "float4_e2m1fn",
}


def to_float32(values: NDArray[Any], dtype: DType) -> NDArray[np.float32]:
    """Decode carried values to float32: exact where float32 can hold them, rounded elsewhere.

    Args:
        values: `[rows, columns]` as `CARRIERS` says; packed bytes for formats below 8 bits.
        dtype: what they are.

    Returns:
        `[rows, width]`; of complex numbers the real and imaginary parts side by side,
        `[rows, 2 × width]`, which have the same norm.

    Raises:
        ValueError: there is no decoder for the dtype.
    """
    if dtype.name == "BF16":
        wide = values.astype(np.uint32)
        # In place: a second array of this size costs more than the shift.
        wide <<= 16
        return wide.view(np.float32)
    if dtype.name in _ML_DTYPES:
        return _float_table(dtype.name)[unpack(values, dtype.bits)]
    if dtype.name == "C64":
        return np.ascontiguousarray(values).view(np.float32)
    if dtype.name in CARRIERS:
        with np.errstate(over="ignore"):
            return values.astype(np.float32, copy=False)
    raise ValueError(f"no decoder for {dtype}")


def to_float64(values: NDArray[Any], dtype: DType) -> NDArray[np.float64]:
    """Decode carried values to float64: as `to_float32`, and exact for F64 and 32-bit integers.

    Raises:
        ValueError: there is no decoder for the dtype.
    """
    if dtype.name in ("F64", "I32", "U32", "I64", "U64"):
        return values.astype(np.float64, copy=False)
    return to_float32(values, dtype).astype(np.float64)


def unpack(values: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Take packed scalars of 4, 6 or 8 bits apart: one byte each.

    The first scalar lies in the lowest bits, as in torch's `float4_e2m1fn_x2`; for 6 bits, four
    scalars share three bytes the same way.

    Args:
        values: uint8 `[rows, bytes]`.
        bits: bits per scalar.

    Returns:
        uint8 `[rows, bytes × 8 / bits]`.
    """
    if bits == 8:
        return values.view(np.uint8)
    rows, columns = values.shape
    if bits == 4:
        pairs = np.stack((values & 0x0F, values >> 4), axis=-1)
        return pairs.reshape(rows, 2 * columns).astype(np.uint8, copy=False)
    triples = values.reshape(rows, columns // 3, 3).astype(np.uint32)
    words = triples[..., 0] | triples[..., 1] << 8 | triples[..., 2] << 16
    fours = np.stack([words >> shift & 0x3F for shift in (0, 6, 12, 18)], axis=-1)
    return fours.reshape(rows, columns // 3 * 4).astype(np.uint8)


@lru_cache(maxsize=8)
def _float_table(name: str) -> NDArray[np.float32]:
    """List the value of every bit pattern of a format of at most 8 bits."""
    import ml_dtypes

    kind = np.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
    patterns = 1 << {"F4": 4, "F6": 6}.get(name[:2], 8)
    table: NDArray[np.float32] = np.arange(patterns, dtype=np.uint8).view(kind).astype(np.float32)
    return table
