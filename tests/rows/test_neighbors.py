from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from embcalc.core.blocks import RowBlock
from embcalc.core.dtypes import BY_NAME
from embcalc.rows.judge import Metric
from embcalc.rows.neighbors import MANY, Nearest, Search, nearest
from embcalc.rows.parallel import SHARE_BYTES, RowPass, shares

KINDS: dict[str, Any] = {
    "F32": np.float32,
    "F64": np.float64,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
}


def carried(table: NDArray[Any]) -> NDArray[Any]:
    """As readers give them: bits of what numpy does not know."""
    if table.dtype.kind == "f" and table.dtype.type.__module__ == "numpy":
        return table
    return table.view(f"u{table.itemsize}") if table.dtype.kind != "i" else table


def blocks(table: NDArray[Any], dtype: str, size: int = 37) -> Iterator[RowBlock]:
    bits = carried(table)
    for start in range(0, len(bits), size):
        yield RowBlock(start, bits[start : start + size].copy(), BY_NAME[dtype])


def find(table: NDArray[Any], dtype: str, query: NDArray[Any], **options: Any) -> Nearest:
    def read(rows: range | None) -> Iterator[RowBlock]:
        start = 0 if rows is None else rows.start
        part = table if rows is None else table[rows.start : rows.stop]
        for block in blocks(part, dtype):
            yield RowBlock(start + block.start, block.values, block.dtype)

    rows = RowPass(stream=read, shares=shares(len(table), SHARE_BYTES // 1000, 3), workers=3)
    return nearest(rows, read, Search(query=query.astype(np.float64), **options))


def brute(
    table: NDArray[np.float64], query: NDArray[np.float64], metric: Metric, skip: set[int]
) -> tuple[list[int], NDArray[np.float64]]:
    if metric is Metric.COSINE:
        with np.errstate(all="ignore"):
            scores = table @ query / (np.linalg.norm(table, axis=1) * np.linalg.norm(query))
    elif metric is Metric.DOT:
        scores = table @ query
    else:
        scores = -np.linalg.norm(table - query, axis=1)
    order = [row for row in np.argsort(-scores, kind="stable").tolist() if row not in skip][:10]
    return order, np.abs(scores[order]) if metric is Metric.EUCLIDEAN else scores[order]


@pytest.mark.parametrize("metric", list(Metric))
@pytest.mark.parametrize("dtype", list(KINDS))
@pytest.mark.parametrize("terms", [1, 3])
@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_equals_brute_force_in_float64(
    metric: Metric, dtype: str, terms: int, shared: float
) -> None:
    rng = np.random.default_rng(terms)
    table = (rng.normal(0, 0.05, (3000, 96)) + shared).astype(KINDS[dtype])
    exact = table.astype(np.float64)
    query = exact[100] - sum(exact[101 : 100 + terms], np.zeros(96))
    skip = np.zeros(3000, np.bool_)
    skip[100 : 100 + terms] = True
    found = find(table, dtype, query, metric=metric, skip=skip)
    rows, scores = brute(exact, query, metric, set(range(100, 100 + terms)))
    assert found.rows.tolist() == rows
    assert np.allclose(found.scores, scores, rtol=1e-12, atol=1e-12)
    assert found.undefined == 0


@pytest.mark.parametrize("metric", list(Metric))
@pytest.mark.parametrize("dtype", list(KINDS))
def test_near_ties_are_ranked_by_float64(metric: Metric, dtype: str) -> None:
    """Rows that differ in their last bits only: what a fast pass cannot tell apart."""
    rng = np.random.default_rng(5)
    base = rng.normal(0, 1, 64)
    table = (base + rng.normal(0, 1e-3, (2000, 64))).astype(KINDS[dtype])
    exact = table.astype(np.float64)
    found = find(table, dtype, exact[0], metric=metric)
    best, scores = brute(exact, exact[0], metric, set())
    assert np.allclose(found.scores, scores, rtol=0, atol=1e-13)
    assert metric is Metric.COSINE or found.rows.tolist() == best


@pytest.mark.parametrize("size", [1e-39, 1e-30, 1e-20, 1e18, 1e25, 1e37])
def test_rows_beyond_the_range_of_the_kernels(size: float) -> None:
    rng = np.random.default_rng(2)
    exact = rng.normal(0, 1, (400, 32))
    exact[::2] *= size
    table = exact.astype(ml_dtypes.bfloat16)
    exact = table.astype(np.float64)
    for query in (exact[2], exact[3]):
        found = find(table, "BF16", query)
        assert found.rows.tolist() == brute(exact, query, Metric.COSINE, set())[0]


@pytest.mark.parametrize("size", [0, 1e-30, 1e25])
def test_rows_whose_first_columns_tell_nothing(size: float) -> None:
    """The size of a row shows in its first columns, mostly."""
    rng = np.random.default_rng(2)
    exact = rng.normal(0, 1, (400, 300))
    exact[::3, :200] *= 0.0
    exact[::2, 280:] *= size
    table = exact.astype(ml_dtypes.bfloat16)
    exact = table.astype(np.float64)
    for query in (exact[3], exact[4]):
        found = find(table, "BF16", query)
        assert found.rows.tolist() == brute(exact, query, Metric.COSINE, set())[0]


def test_rows_without_a_score_are_counted_and_left_out() -> None:
    table = np.random.default_rng(0).normal(0, 1, (100, 8)).astype(np.float32)
    table[3] = 0
    table[5, 2] = np.nan
    table[7, 1] = np.inf
    query = table[0].astype(np.float64)
    assert find(table, "F32", query).undefined == 3
    found = find(table, "F32", query, metric=Metric.EUCLIDEAN, top=200)
    assert found.undefined == 2
    assert sorted(found.rows.tolist()) == [row for row in range(100) if row not in (5, 7)]


def test_equal_rows_come_in_the_order_of_their_numbers() -> None:
    table = np.ones((50, 4), np.float32)
    assert find(table, "F32", table[0], top=5).rows.tolist() == [0, 1, 2, 3, 4]


def test_centring_is_exact_too() -> None:
    rng = np.random.default_rng(3)
    table = (rng.normal(0, 0.05, (2000, 48)) + 2).astype(np.float16)
    exact = table.astype(np.float64)
    mean = exact.mean(axis=0)
    table[40] = mean
    exact = table.astype(np.float64)
    found = find(table, "F16", exact[7] - mean, mean=mean)
    assert found.rows.tolist() == brute(exact - mean, exact[7] - mean, Metric.COSINE, set())[0]
    assert abs(found.mean_cosine) < 0.1
    assert find(table, "F16", exact[7]).mean_cosine > 0.9


def test_a_dtype_without_a_kernel() -> None:
    table = np.random.default_rng(0).integers(-100, 100, (300, 16)).astype(np.int32)
    exact = table.astype(np.float64)
    found = find(table, "I32", exact[4])
    assert found.rows.tolist() == brute(exact, exact[4], Metric.COSINE, set())[0]


@pytest.mark.parametrize("metric", list(Metric))
@pytest.mark.parametrize("dtype", list(KINDS))
@pytest.mark.parametrize("shared", [0.0, 0.3, 20.0])
def test_centred_equals_brute_force_in_float64(metric: Metric, dtype: str, shared: float) -> None:
    """Far from the origin, what a fast pass knows of centred rows is little or nothing."""
    rng = np.random.default_rng(11)
    table = (rng.normal(0, 0.25, (2500, 80)) + shared).astype(KINDS[dtype])
    table[7] = 0
    exact = table.astype(np.float64)
    mean = exact.mean(axis=0)
    query = exact[50] - mean
    skip = np.zeros(2500, np.bool_)
    skip[50] = True
    found = find(table, dtype, query, metric=metric, mean=mean, skip=skip)
    rows, scores = brute(exact - mean, query, metric, {50})
    assert np.allclose(found.scores, scores, rtol=1e-11, atol=1e-11)
    # Of rows that equal each other brute force rounds some sums otherwise.
    assert shared == 20 or found.rows.tolist() == rows
    assert found.undefined == 0


@pytest.mark.parametrize("metric", list(Metric))
def test_bounds_too_wide_to_be_of_use(metric: Metric) -> None:
    """More rows than are worth asking one by one: they are judged again in float64."""
    rng = np.random.default_rng(12)
    table = (rng.normal(0, 1e-3, (MANY + 2000, 16)) + 8).astype(np.float32)
    exact = table.astype(np.float64)
    mean = exact.mean(axis=0)
    found = find(table, "F32", exact[3] - mean, metric=metric, mean=mean)
    rows, scores = brute(exact - mean, exact[3] - mean, metric, set())
    assert found.rows.tolist() == rows
    assert np.allclose(found.scores, scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", list(Metric))
@pytest.mark.parametrize("dtype", ["F8_E4M3", "F8_E5M2", "BF16"])
@pytest.mark.parametrize("centred", [False, True])
def test_rows_of_short_floats_that_are_not_numbers(
    metric: Metric, dtype: str, centred: bool
) -> None:
    rng = np.random.default_rng(13)
    table = rng.normal(0, 1, (300, 40)).astype(KINDS[dtype])
    table[[4, 9, 17], [0, 39, 5]] = np.nan
    carried(table)[9] |= 1 << (8 * table.itemsize - 1)
    exact = table.astype(np.float64)
    finite = ~np.isnan(exact.sum(axis=1))
    mean = exact[finite].mean(axis=0) if centred else None
    found = find(table, dtype, exact[0], metric=metric, mean=mean)
    rest = np.where(finite[:, None], exact - (0 if mean is None else mean), 0)
    assert found.rows.tolist() == brute(rest, exact[0], metric, {4, 9, 17})[0]
    assert found.undefined == 3


@pytest.mark.parametrize("dtype", list(KINDS))
@pytest.mark.parametrize("metric", list(Metric))
def test_unaligned_rows(dtype: str, metric: Metric) -> None:
    """A file may store its numbers at any byte."""
    table = np.random.default_rng(0).normal(0, 1, (100, 16)).astype(KINDS[dtype])
    bits = carried(table)
    shifted = np.frombuffer(b"x" + bits.tobytes(), np.uint8)[1:].view(bits.dtype)
    shifted = shifted.reshape(bits.shape)
    assert shifted.itemsize == 1 or not shifted.flags.aligned

    def read(rows: range | None) -> Iterator[RowBlock]:
        part = shifted if rows is None else shifted[rows.start : rows.stop]
        yield RowBlock(0 if rows is None else rows.start, part, BY_NAME[dtype])

    query = table.astype(np.float64)[4]
    rows = RowPass(stream=read, shares=[range(len(shifted))])
    found = nearest(rows, read, Search(query=query, metric=metric))
    assert found.rows.tolist() == brute(table.astype(np.float64), query, metric, set())[0]


@pytest.mark.parametrize("dtype", list(KINDS))
@pytest.mark.parametrize("metric", [Metric.EUCLIDEAN, Metric.DOT])
def test_the_zero_vector_has_distances(dtype: str, metric: Metric) -> None:
    """No rounding error is known relative to a norm of 0."""
    table = np.random.default_rng(7).normal(0, 1, (400, 32)).astype(KINDS[dtype])
    query = np.zeros(32)
    found = find(table, dtype, query, metric=metric)
    assert found.rows.tolist() == brute(table.astype(np.float64), query, metric, set())[0]


@pytest.mark.parametrize("metric", list(Metric))
@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-30, 1e30, 1e170, 1e300])
def test_numbers_whose_squares_vanish_or_overflow(size: float, metric: Metric) -> None:
    """A table is what it is times any power of two."""
    table = np.random.default_rng(8).normal(0, 1, (300, 24))
    query = table[5] + table[6]
    factor = 2.0 ** int(np.log2(size))
    if metric is Metric.DOT:
        query, scale = query / factor, 1.0
    else:
        query, scale = query * factor, factor if metric is Metric.EUCLIDEAN else 1.0
    found = find(table * factor, "F64", query, metric=metric)
    rows, scores = brute(table, table[5] + table[6], metric, set())
    assert found.rows.tolist() == rows
    assert np.allclose(found.scores / scale, scores, rtol=1e-12)
    assert found.undefined == 0


def test_the_average_leaves_the_query_out() -> None:
    table = np.array([[1, 0], [3, 4], [6, 8]], np.float32)
    skip = np.array([True, False, False])
    found = find(table, "F32", np.array([1.0, 0.0]), skip=skip)
    assert found.mean_cosine == pytest.approx(0.6, abs=1e-5)
