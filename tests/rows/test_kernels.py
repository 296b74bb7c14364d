"""Norms and products agree with float64 numpy for every dtype, with numkong and without."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from embcalc.core.dtypes import BY_NAME
from embcalc.rows.exact import row_norms
from embcalc.rows.kernels import NumkongKernels, NumpyKernels, kernels_for

SCALARS: dict[str, tuple[Any, Any]] = {
    "BF16": (ml_dtypes.bfloat16, np.uint16),
    "F16": (np.float16, np.float16),
    "F32": (np.float32, np.float32),
    "F64": (np.float64, np.float64),
}
"""Scalar type and carrier of each dtype."""
EIGHT_BITS: dict[str, tuple[Any, Any]] = {
    "F8_E4M3": (ml_dtypes.float8_e4m3fn, np.uint8),
    "F8_E5M2": (ml_dtypes.float8_e5m2, np.uint8),
    "F8_E4M3FNUZ": (ml_dtypes.float8_e4m3fnuz, np.uint8),
    "F8_E5M2FNUZ": (ml_dtypes.float8_e5m2fnuz, np.uint8),
    "F8_E8M0": (ml_dtypes.float8_e8m0fnu, np.uint8),
}
WIDTHS = (1, 3, 16, 384, 1000, 4096, 5003, 8194)


def carried(numbers: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Stored bits, and the numbers that they stand for."""
    scalar, carrier = (SCALARS | EIGHT_BITS)[name]
    with np.errstate(over="ignore"):
        stored = numbers.astype(scalar)
    return stored.view(carrier), stored.astype(np.float64)


def relative(found: NDArray[Any], truth: NDArray[Any]) -> float:
    return float(np.abs(found / truth - 1).max())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [*SCALARS, *EIGHT_BITS])
def test_norms_agree_with_float64(name: str, width: int) -> None:
    random = np.random.default_rng(width)
    # 8-bit types have no numbers near 0.01 worth the name.
    mean, std = (0.5, 0.1) if name in EIGHT_BITS else (0.01, 0.02)
    drawn = random.normal(mean, std, (40, width))
    # Powers of two have no sign.
    values, numbers = carried(np.abs(drawn) if name == "F8_E8M0" else drawn, name)
    truth = np.linalg.norm(numbers, axis=1)
    for kernels in (kernels_for(BY_NAME[name]), NumpyKernels(BY_NAME[name])):
        found, nonfinite = row_norms(values, BY_NAME[name], kernels)
        assert relative(found, truth) < 1e-6
        assert not nonfinite.any()


@pytest.mark.parametrize("width", [1024, 4096, 5376, 16384, 16411])
@pytest.mark.parametrize("name", ["BF16", "F16"])
def test_rows_of_one_value_do_not_drift(name: str, width: int) -> None:
    """Every step of a float32 sum rounds the same way here: the worst case of a fast kernel."""
    ramp = np.linspace(0.5, 1, 200)[:, None]
    values, numbers = carried(np.repeat(ramp, width, axis=1), name)
    found, _ = row_norms(values, BY_NAME[name], kernels_for(BY_NAME[name]))
    assert relative(found, np.linalg.norm(numbers, axis=1)) < 1e-6


@pytest.mark.parametrize("width", [512, 1024, 4096, 8192])
@pytest.mark.parametrize("name", ["BF16", "F16", "F8_E4M3", "F8_E5M2"])
def test_one_far_larger_number_swallows_no_others(name: str, width: int) -> None:
    """Squares far below half a unit in the last place of a float32 sum leave no trace in it."""
    random = np.random.default_rng(width)
    numbers = random.normal(0, 0.05, (300, width)).astype(np.float32)
    numbers[:, 0] = 10 ** random.uniform(-1, 2.4, 300)
    values, stored = carried(numbers, name)
    found, _ = row_norms(values, BY_NAME[name], kernels_for(BY_NAME[name]))
    assert relative(found, np.linalg.norm(stored, axis=1)) < 1e-6


@pytest.mark.parametrize("width", [256, 512, 1024, 4096])
@pytest.mark.parametrize("name", ["F8_E4M3", "F8_E5M2"])
def test_any_8_bit_number_before_any_other(name: str, width: int) -> None:
    scalar, _ = EIGHT_BITS[name]
    finite = np.arange(1, 0x7C, dtype=np.uint8)
    truths = finite.view(scalar).astype(np.float64) ** 2
    kernels = kernels_for(BY_NAME[name])
    values = np.repeat(finite[:, None], width, axis=1)
    for first, square in zip(finite, truths, strict=True):
        values[:, 0] = first
        truth = np.sqrt(square + truths * (width - 1))
        assert relative(kernels.norms(values), truth) < 1e-6


@pytest.mark.parametrize("width", [256, 1024, 4096])
@pytest.mark.parametrize("name", ["BF16", "F16", "F8_E4M3", "F8_E5M2"])
def test_one_number_before_many_equal_smaller_ones(name: str, width: int) -> None:
    """Each addition rounds the same way, beside a sum near 1."""
    small = 10 ** np.random.default_rng(width).uniform(-2, -1, (500, 1))
    numbers = np.repeat(small, width, axis=1)
    numbers[:, 0] = 1
    values, stored = carried(numbers, name)
    found, _ = row_norms(values, BY_NAME[name], kernels_for(BY_NAME[name]))
    assert relative(found, np.linalg.norm(stored, axis=1)) < 1e-6


@pytest.mark.parametrize(
    ("name", "scalar", "bits"),
    [
        ("F4", ml_dtypes.float4_e2m1fn, 4),
        ("F6_E2M3", ml_dtypes.float6_e2m3fn, 6),
        ("F6_E3M2", ml_dtypes.float6_e3m2fn, 6),
    ],
)
@pytest.mark.parametrize("width", [16, 1000, 4096])
def test_norms_of_packed_rows(name: str, scalar: Any, bits: int, width: int) -> None:
    random = np.random.default_rng(width)
    codes = random.integers(0, 1 << bits, (20, width), dtype=np.uint8)
    codes[0] = 0
    fields = (codes[..., None] >> np.arange(bits)) & 1
    packed = np.packbits(fields.reshape(20, -1), axis=1, bitorder="little")
    truth = np.linalg.norm(codes.view(scalar).astype(np.float64), axis=1)
    found, nonfinite = row_norms(packed, BY_NAME[name], kernels_for(BY_NAME[name]))
    assert found == pytest.approx(truth, rel=1e-6, abs=0)
    assert not nonfinite.any()


@pytest.mark.parametrize("scale", [1e-45, 1e-40, 3e-39, 1e-30, 1e-19, 1e-13, 1e15, 1e19, 1e37])
@pytest.mark.parametrize("name", ["BF16", "F32", "F64"])
def test_tiny_and_huge_rows_are_asked_again(name: str, scale: float) -> None:
    random = np.random.default_rng(7)
    values, numbers = carried(random.uniform(0.5, 1, (8, 64)) * scale, name)
    found, nonfinite = row_norms(values, BY_NAME[name], kernels_for(BY_NAME[name]))
    truth = np.linalg.norm(numbers / scale, axis=1) * scale
    zero = truth == 0
    assert (found[zero] == 0).all()
    assert not nonfinite.any()
    if not zero.all():
        assert relative(found[~zero], truth[~zero]) < 1e-6


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200, 1e200, 1e307])
def test_float64_rows_neither_underflow_nor_overflow(scale: float) -> None:
    values = np.full((2, 9), scale)
    found, nonfinite = row_norms(values, BY_NAME["F64"], kernels_for(BY_NAME["F64"]))
    assert relative(found, np.full(2, 3 * scale)) < 1e-12
    assert not nonfinite.any()


def test_every_float16_subnormal_has_its_norm() -> None:
    bits = np.arange(0x400, dtype=np.uint16).reshape(-1, 1)
    values = bits.view(np.float16)
    for kernels in (kernels_for(BY_NAME["F16"]), NumpyKernels(BY_NAME["F16"])):
        found, _ = row_norms(values, BY_NAME["F16"], kernels)
        assert np.array_equal(found, values.astype(np.float64)[:, 0])


@pytest.mark.parametrize("name", SCALARS)
def test_rows_that_are_not_finite_are_flagged(name: str) -> None:
    numbers = np.full((5, 40), 0.5)
    numbers[1, 3], numbers[2, 39], numbers[3, 0] = np.nan, np.inf, -np.inf
    values, _ = carried(numbers, name)
    for kernels in (kernels_for(BY_NAME[name]), NumpyKernels(BY_NAME[name])):
        norms, nonfinite = row_norms(values, BY_NAME[name], kernels)
        assert nonfinite.tolist() == [False, True, True, True, False]
        assert np.isnan(norms[1])
        assert np.isinf(norms[2:4]).all()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SCALARS)
def test_products_agree_with_float64(name: str, width: int) -> None:
    random = np.random.default_rng(width)
    values, numbers = carried(random.normal(0, 0.02, (30, width)), name)
    directions = random.normal(0, 1, (3, width))
    truth = numbers @ directions.T
    size = np.linalg.norm(numbers, axis=1)[:, None] * np.linalg.norm(directions, axis=1)
    for kernels in (kernels_for(BY_NAME[name]), NumpyKernels(BY_NAME[name])):
        found = kernels.dots(directions)(values)
        assert (np.abs(found - truth) / size).max() < 2e-5
        rough = kernels.sketch(directions)(values)
        assert (np.abs(rough - truth) / size).max() < 5e-3


def test_numpy_steps_in_where_numkong_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    from embcalc.rows import kernels

    assert isinstance(kernels_for(BY_NAME["BF16"]), NumkongKernels)
    assert isinstance(kernels_for(BY_NAME["I8"]), NumpyKernels)
    monkeypatch.setitem(sys.modules, "numkong", None)
    kernels._has_numkong.cache_clear()
    assert isinstance(kernels_for(BY_NAME["BF16"]), NumpyKernels)
    monkeypatch.undo()
    kernels._has_numkong.cache_clear()
    monkeypatch.setenv("EMBCALC_KERNELS", "numpy")
    assert isinstance(kernels_for(BY_NAME["BF16"]), NumpyKernels)


@pytest.mark.parametrize("name", SCALARS)
def test_unaligned_values_are_taken(name: str) -> None:
    """Data in a file may begin at any byte; numkong refuses such arrays."""
    values, numbers = carried(np.random.default_rng(3).normal(0, 1, (6, 40)), name)
    raw = b"x" + values.tobytes()
    shifted = np.frombuffer(raw, values.dtype, offset=1).reshape(values.shape)
    assert not shifted.flags.aligned
    kernels = kernels_for(BY_NAME[name])
    assert relative(kernels.norms(shifted), np.linalg.norm(numbers, axis=1)) < 1e-6
    products = kernels.dots(np.ones((1, 40)))(shifted)[:, 0]
    assert products == pytest.approx(numbers.sum(axis=1), abs=1e-5)
