from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from embcalc.core.blocks import RowBlock
from embcalc.core.dtypes import BY_NAME
from embcalc.rows.mean import mean_row
from embcalc.rows.parallel import RowPass, shares

KINDS: dict[str, Any] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "I32": np.int32,
}


def mean_of(table: NDArray[Any], dtype: str, size: int = 100, workers: int = 2) -> NDArray[Any]:
    bits = table.view(f"u{table.itemsize}") if dtype.startswith(("B", "F8")) else table

    def stream(rows: range | None) -> Iterator[RowBlock]:
        part = range(len(bits)) if rows is None else rows
        for at in range(part.start, part.stop, size):
            yield RowBlock(at, bits[at : min(at + size, part.stop)].copy(), BY_NAME[dtype])

    parts = shares(len(table), 1 << 17, workers)
    return mean_row(RowPass(stream=stream, shares=parts, workers=workers))


@pytest.mark.parametrize("dtype", list(KINDS))
@pytest.mark.parametrize("size", [1, 7, 8, 100])
def test_mean_of_every_dtype_in_blocks_of_any_size(dtype: str, size: int) -> None:
    table = (np.random.default_rng(1).normal(0.5, 3, (1003, 12))).astype(KINDS[dtype])
    expected = table.astype(np.float64).mean(axis=0)
    assert np.allclose(mean_of(table, dtype, size), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F8_E4M3", "F8_E5M2"])
def test_wide_rows_come_in_pieces(dtype: str) -> None:
    table = (np.random.default_rng(1).normal(0, 0.02, (40, 40_000))).astype(KINDS[dtype])
    expected = table.astype(np.float64).mean(axis=0)
    assert np.allclose(mean_of(table, dtype), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F8_E4M3", "F8_E5M2"])
@pytest.mark.parametrize("size", [3, 1000])
def test_many_rows_of_a_short_format(dtype: str, size: int) -> None:
    table = (np.random.default_rng(1).normal(0.1, 1, (70_001, 6))).astype(KINDS[dtype])
    expected = table.astype(np.float64).mean(axis=0)
    assert np.allclose(mean_of(table, dtype, size), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F8_E4M3", "F8_E5M2", "F32"])
def test_rows_that_are_not_finite_are_left_out(dtype: str) -> None:
    table = np.ones((20, 3)).astype(KINDS[dtype])
    table[2, 0] = np.nan
    table[11] = np.nan
    table[12, 1] = 2
    assert mean_of(table, dtype).tolist() == [1.0, 19 / 18, 1.0]


def test_sums_beyond_float32() -> None:
    table = np.full((16, 2), 3e38).astype(ml_dtypes.bfloat16)
    assert mean_of(table, "BF16").tolist() == table.astype(np.float64)[0].tolist()


def test_the_mean_of_nothing() -> None:
    with pytest.raises(ValueError, match="finite"):
        mean_of(np.full((3, 2), np.nan, np.float32), "F32")


def test_threads_do_not_share_scratch_memory() -> None:
    table = np.repeat(np.arange(1, 9), 500)[:, None].astype(np.float16) * np.ones(64, np.float16)
    for _ in range(5):
        assert mean_of(table, "F16", workers=4).tolist() == [4.5] * 64
