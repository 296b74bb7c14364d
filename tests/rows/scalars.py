"""The dtypes of safetensors as numpy knows them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

SCALARS: dict[str, Any] = {
    "BF16": ml_dtypes.bfloat16,
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    "F6_E2M3": ml_dtypes.float6_e2m3fn,
    "F6_E3M2": ml_dtypes.float6_e3m2fn,
    "F4": ml_dtypes.float4_e2m1fn,
    "C64": np.complex64,
    "BOOL": np.bool_,
}
WHOLE = {name: np.dtype(name.replace("U", "u").replace("I", "i").replace("8", "1").replace(
    "16", "2").replace("32", "4").replace("64", "8")) for name in
    ("I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64")}  # fmt: skip
