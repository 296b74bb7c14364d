from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from embcalc.core.blocks import RowBlock
from embcalc.core.dtypes import BY_NAME
from embcalc.rows.added import AddedTally
from embcalc.rows.diff import (
    Spread,
    aligned,
    changes,
    coarser,
    different_rows,
    exact_changes,
    rounded_to,
    same_values,
)

KINDS: dict[str, Any] = {
    "F32": np.float32,
    "F64": np.float64,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
}


def carried(table: NDArray[Any]) -> NDArray[Any]:
    return table.view(np.uint16) if table.dtype == ml_dtypes.bfloat16 else table


def blocks(table: NDArray[Any], dtype: str, size: int) -> Iterator[RowBlock]:
    for start in range(0, len(table), size):
        yield RowBlock(start, carried(table)[start : start + size], BY_NAME[dtype])


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 9), st.integers(1, 9))
def test_blocks_are_cut_alike(rows_a: int, rows_b: int, size_a: int, size_b: int) -> None:
    a = np.arange(rows_a, dtype=np.float32)[:, None]
    b = np.arange(rows_b, dtype=np.float32)[:, None]
    seen_a: list[float] = []
    seen_b: list[float] = []
    for pair in aligned(blocks(a, "F32", size_a), blocks(b, "F32", size_b)):
        for block, seen in ((pair.a, seen_a), (pair.b, seen_b)):
            if block is not None:
                assert block.start == pair.start == len(seen)
                seen.extend(block.values[:, 0].tolist())
        if pair.a is not None and pair.b is not None:
            assert np.array_equal(pair.a.values, pair.b.values)
    assert seen_a == a[:, 0].tolist()
    assert seen_b == b[:, 0].tolist()


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 384])
@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_rows_whose_bits_differ(width: int, dtype: str) -> None:
    table = carried(np.random.default_rng(0).normal(size=(50, width)).astype(KINDS[dtype]))
    other = table.copy()
    assert different_rows(table, other).tolist() == []
    changed = [0, 17, 49]
    for row in changed:
        other[row, width - 1] = 0 if other[row, width - 1] else 1
    assert different_rows(table, other).tolist() == changed


@pytest.mark.parametrize("dtype", list(KINDS))
def test_changes_agree_with_float64(dtype: str) -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(0, 0.05, (300, 96)).astype(KINDS[dtype])
    b = (a.astype(np.float64) + rng.normal(0, 0.01, a.shape)).astype(KINDS[dtype])
    deltas, cosines = changes(carried(a), carried(b), BY_NAME[dtype])
    x, y = a.astype(np.float64), b.astype(np.float64)
    norms = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    assert np.allclose(deltas, np.linalg.norm(y - x, axis=1), rtol=1e-4)
    assert np.allclose(cosines, (x * y).sum(axis=1) / norms, rtol=1e-4)


def test_one_row_is_enough() -> None:
    a, b = np.ones((1, 4), np.float32), np.zeros((1, 4), np.float32)
    deltas, cosines = changes(a, b, BY_NAME["F32"])
    assert deltas.tolist() == [2.0]
    assert np.isnan(cosines).all()


@pytest.mark.parametrize("size", [1e-39, 1e-25, 1e25])
def test_sizes_that_kernels_lose(size: float) -> None:
    a = (np.ones((3, 8)) * size).astype(ml_dtypes.bfloat16)
    b = (a.astype(np.float64) * 3).astype(ml_dtypes.bfloat16)
    x, y = a.astype(np.float64), b.astype(np.float64)
    deltas, cosines = changes(carried(a), carried(b), BY_NAME["BF16"])
    assert np.allclose(deltas, np.linalg.norm(y - x, axis=1), rtol=1e-6)
    assert np.allclose(cosines, 1.0)


def test_zero_and_non_finite_rows() -> None:
    a = np.array([[0, 0], [1, 1], [np.nan, 1], [np.inf, 1], [0, 1]], np.float32)
    b = np.array([[1, 0], [0, 0], [1, 1], [np.inf, 1], [-0.0, 1]], np.float32)
    deltas, cosines = changes(a, b, BY_NAME["F32"])
    assert deltas.tolist() == [1.0, pytest.approx(2**0.5), np.inf, 0.0, 0.0]
    assert np.isnan(cosines[:4]).all()


def test_a_difference_too_small_to_square_is_no_equality() -> None:
    a = np.array([[1e-300, 0.0]])
    deltas, _ = exact_changes(a, 2 * a)
    assert deltas[0] == 1e-300


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("F32", "BF16", "BF16"),
        ("BF16", "F16", "BF16"),
        ("F16", "F32", "F16"),
        ("F64", "F32", "F32"),
        ("F32", "I32", "F32"),
        ("F8_E4M3", "F8_E5M2", "F8_E5M2"),
    ],
)
def test_the_coarser_dtype(a: str, b: str, expected: str) -> None:
    assert coarser(BY_NAME[a], BY_NAME[b]).name == expected
    assert coarser(BY_NAME[b], BY_NAME[a]).name == expected


@pytest.mark.parametrize("target", ["F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"])
def test_rounding_is_that_of_the_dtype(target: str) -> None:
    values = np.random.default_rng(0).normal(size=(20, 8))
    kinds = KINDS | {"F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2}
    expected = values.astype(np.float64).astype(kinds[target])
    held = rounded_to(RowBlock(0, values, BY_NAME["F64"]), BY_NAME[target])
    assert held.tobytes() == expected.tobytes()
    assert rounded_to(RowBlock(0, held, BY_NAME[target]), BY_NAME[target]) is held


def test_added_rows_are_sorted_by_what_they_look_like() -> None:
    rng = np.random.default_rng(0)
    old = rng.normal(0.1, 0.02, (500, 64)).astype(np.float32)
    spread = Spread(np.zeros(64))
    for block in blocks(old, "F32", 77):
        spread.add(block)
    assert np.allclose(spread.mean, old.astype(np.float64).mean(axis=0))
    exact = old.astype(np.float64)
    away = np.linalg.norm(exact - exact.mean(axis=0), axis=1)
    assert spread.distance == pytest.approx(np.sqrt(np.mean(away**2)), rel=1e-6)
    mean = spread.mean
    jitter = mean + rng.normal(0, 0.02 * 10**-4.5, 64)
    trained = rng.normal(0.1, 0.02, 64)
    new = np.stack([np.zeros(64), mean, jitter, trained, trained]).astype(np.float32)
    tally = AddedTally(spread)
    tally.add(RowBlock(500, new, BY_NAME["F32"]))
    added = tally.result()
    assert (added.count, added.zero, added.at_mean) == (5, 1, 2)
    assert (added.repeated, added.elsewhere) == (1, 1)


def test_a_mean_stored_in_bf16_is_still_the_mean() -> None:
    old = np.random.default_rng(0).normal(0.5, 0.002, (500, 64)).astype(ml_dtypes.bfloat16)
    spread = Spread(np.zeros(64))
    for block in blocks(old, "BF16", 100):
        spread.add(block)
    tally = AddedTally(spread)
    stored = spread.mean.astype(ml_dtypes.bfloat16)[None]
    tally.add(RowBlock(500, carried(stored), BY_NAME["BF16"]))
    assert tally.result().at_mean == 1


@pytest.mark.parametrize("dtype", list(KINDS))
def test_unaligned_rows(dtype: str) -> None:
    a = carried(np.random.default_rng(0).normal(0, 1, (20, 16)).astype(KINDS[dtype]))
    b = carried(np.random.default_rng(1).normal(0, 1, (20, 16)).astype(KINDS[dtype]))
    shifted = np.frombuffer(b"x" + b.tobytes(), np.uint8)[1:].view(b.dtype).reshape(b.shape)
    assert not shifted.flags.aligned
    assert different_rows(a, shifted).tolist() == list(range(20))
    for found, expected in zip(
        changes(a, shifted, BY_NAME[dtype]), changes(a, b, BY_NAME[dtype]), strict=True
    ):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e170, 1e300])
def test_changes_whose_squares_vanish_or_overflow(size: float) -> None:
    factor = 2.0 ** int(np.log2(size))
    a, b = np.random.default_rng(0).normal(0, 1, (2, 20, 8))
    deltas, cosines = exact_changes(a * factor, b * factor)
    assert np.allclose(deltas / factor, np.linalg.norm(b - a, axis=1), rtol=1e-12)
    assert np.allclose(cosines, exact_changes(a, b)[1], rtol=1e-12)


def test_same_values_stops_at_the_first_difference() -> None:
    table = np.ones((6, 2), np.float32)

    def read(values: NDArray[Any], dtype: str = "F32") -> Iterator[RowBlock]:
        yield RowBlock(0, values[:3], BY_NAME[dtype])
        yield RowBlock(3, values[3:], BY_NAME[dtype])

    def broken(values: NDArray[Any]) -> Iterator[RowBlock]:
        yield RowBlock(0, values, BY_NAME["F32"])
        raise AssertionError("read on")

    assert same_values(read(table), read(table))
    assert not same_values(read(table), read(table[:5]))
    assert not same_values(read(table), read(table.view(np.int32), "I32"))
    assert not same_values(broken(table[:3] * 2), read(table))
    assert same_values(iter(()), iter(()))
