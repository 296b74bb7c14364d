"""From stored bits to numbers."""

from __future__ import annotations

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
}
"""The numpy type that carries the stored scalars of a dtype, little endian."""


def to_float32(values: NDArray[Any], dtype: DType) -> NDArray[np.float32]:
    """Decode carried values to float32, exactly where float32 can hold them.

    Raises:
        ValueError: there is no decoder for the dtype.
    """
    if dtype.name == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    if dtype.name in ("F16", "F32", "F64"):
        return values.astype(np.float32, copy=False)
    raise ValueError(f"no decoder for {dtype}")
