"""Numbers of every dtype, against numpy, ml_dtypes and torch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from embcalc.core.decode import CARRIERS, to_float32, to_float64, unpack
from embcalc.core.dtypes import BY_NAME, SAFETENSORS_DTYPES, DType

TINY = {
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}


def test_every_dtype_has_a_carrier_and_a_decoder() -> None:
    assert len(SAFETENSORS_DTYPES) == 22
    for dtype in SAFETENSORS_DTYPES:
        carried: Any = np.zeros((2, 3), CARRIERS[dtype.name])
        assert to_float32(carried, dtype).dtype == np.float32
        assert to_float64(carried, dtype).dtype == np.float64


@pytest.mark.parametrize("name", TINY)
def test_every_pattern_of_8_bits(name: str) -> None:
    patterns = np.arange(256, dtype=np.uint8)[None]
    expected = patterns.view(TINY[name]).astype(np.float32)
    assert np.array_equal(to_float32(patterns, BY_NAME[name]), expected, equal_nan=True)


def test_every_pattern_of_bf16() -> None:
    patterns = np.arange(1 << 16, dtype=np.uint16)[None]
    expected = patterns.view(ml_dtypes.bfloat16).astype(np.float32)
    decoded = to_float32(patterns, BY_NAME["BF16"])
    assert np.array_equal(decoded, expected, equal_nan=True)
    assert np.array_equal(np.signbit(decoded), np.signbit(expected))


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "kind"),
    [("F8_E5M2", "float8_e5m2"), ("F8_E4M3", "float8_e4m3fn"), ("F8_E8M0", "float8_e8m0fnu"),
     ("F8_E4M3FNUZ", "float8_e4m3fnuz"), ("F8_E5M2FNUZ", "float8_e5m2fnuz")],
)  # fmt: skip
def test_every_pattern_as_torch_reads_it(name: str, kind: str) -> None:
    torch = pytest.importorskip("torch")
    patterns = np.arange(256, dtype=np.uint8)
    expected = torch.from_numpy(patterns).view(getattr(torch, kind)).float().numpy()
    decoded = to_float32(patterns[None], BY_NAME[name])[0]
    assert np.array_equal(decoded, expected, equal_nan=True)


def test_float64_keeps_what_float32_cannot() -> None:
    large = np.array([[(1 << 24) + 1]], np.int32)
    assert to_float64(large, BY_NAME["I32"])[0, 0] == (1 << 24) + 1
    assert to_float32(large, BY_NAME["I32"])[0, 0] == 1 << 24
    assert to_float64(np.array([[0.1]]), BY_NAME["F64"])[0, 0] == 0.1
    assert np.isinf(to_float32(np.array([[1e300]]), BY_NAME["F64"]))[0, 0]


def test_unpacking_takes_the_lowest_bits_first() -> None:
    assert unpack(np.array([[0x21, 0x43]], np.uint8), 4).tolist() == [[1, 2, 3, 4]]
    packed = np.array([[0b10_000001, 0b0011_0000, 0b000100_00]], np.uint8)
    assert unpack(packed, 6).tolist() == [[1, 2, 3, 4]]
    assert unpack(np.array([[7, 8]], np.uint8), 8).tolist() == [[7, 8]]


def test_an_unknown_dtype() -> None:
    with pytest.raises(ValueError, match="no decoder for Q4_0"):
        to_float32(np.zeros((1, 1)), DType("Q4_0", 144, "quantised", 32))
