from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from embcalc.core.dtypes import BY_NAME
from embcalc.rows.widened import SHORT, UNITS, WIDER, short_floats, widened

KINDS: dict[str, Any] = {
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
}


@pytest.mark.parametrize("dtype", list(WIDER))
def test_every_byte_as_float16(dtype: str) -> None:
    every = np.arange(256, dtype=np.uint8)[:, None]
    expected = every.view(KINDS[dtype]).astype(np.float64) * UNITS[dtype]
    found, hidden = widened(every, BY_NAME[dtype])
    numbers = found.astype(np.float64)
    if hidden is not None:
        assert np.flatnonzero(hidden).tolist() == np.flatnonzero(np.isnan(expected)).tolist()
        numbers[hidden] = np.nan
    assert np.array_equal(numbers, expected, equal_nan=True)
    assert np.array_equal(np.signbit(numbers[:127]), np.signbit(expected[:127]))


def test_without_a_nan_nothing_is_hidden() -> None:
    bytes_ = np.array([[0x7E, 0xFE, 0x00, 0x80]], np.uint8)
    assert widened(bytes_, BY_NAME["F8_E4M3"])[1] is None


@pytest.mark.parametrize("dtype", SHORT)
def test_every_number_as_float32(dtype: str) -> None:
    kind = np.dtype(KINDS[dtype])
    bits = np.arange(1 << (8 * kind.itemsize)).astype(f"u{kind.itemsize}")[:, None]
    with np.errstate(invalid="ignore"):  # signalling NaNs
        expected = bits.view(kind).astype(np.float64) * UNITS.get(dtype, 1.0)
    found = short_floats(bits.view(kind) if dtype == "F16" else bits, BY_NAME[dtype])
    with np.errstate(invalid="ignore"):
        assert np.array_equal(found.astype(np.float64), expected, equal_nan=True)
