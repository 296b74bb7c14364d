from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from embcalc.core.diagnosis import empty_tables, odd_magnitudes
from embcalc.core.dtypes import BY_NAME
from embcalc.core.slices import slice_of
from embcalc.core.tables import EmbeddingTable, Role, TensorInfo

WEIGHTS = np.random.default_rng(0).normal(0, 0.02, (64, 32)).astype(np.float32)


def table(rows: int) -> EmbeddingTable:
    info = TensorInfo(name="wte", shape=(rows, 8), dtype=BY_NAME["F32"], file="m", nbytes=0)
    return EmbeddingTable(role=Role.TOKEN, tensor=info)


def test_one_of_eight_shards() -> None:
    problem = slice_of([table(16_032)], 128_256)
    assert problem is not None
    assert problem.message == "wte has 16,032 of 128,256 rows: one of 8 tensor-parallel shards"


@pytest.mark.parametrize(
    ("rows", "vocab_size"),
    [(128_256, 128_256), (128_256, None), (0, 100), (33, 100), (100, 300), (1, 1024), (200, 100)],
)
def test_whole_tables(rows: int, vocab_size: int | None) -> None:
    assert slice_of([table(rows)], vocab_size) is None


def test_no_empty_tables() -> None:
    info = TensorInfo(name="x.bias", shape=(0,), dtype=BY_NAME["F32"], file="m", nbytes=0)
    assert list(empty_tables({"x.bias": info}, ["x.bias"])) == []


def carried(kind: str) -> Any:
    if kind == "BF16":
        return WEIGHTS.astype(ml_dtypes.bfloat16).view(np.uint16)
    return WEIGHTS.astype({"F16": np.float16, "F32": np.float32, "F64": np.float64}[kind])


@pytest.mark.parametrize("kind", ["BF16", "F16", "F32", "F64"])
def test_swapped_bytes(kind: str) -> None:
    values = carried(kind)
    assert odd_magnitudes(values, BY_NAME[kind]) is None
    found = odd_magnitudes(values.byteswap(), BY_NAME[kind])
    # Of F16 only every other number is far off: its exponents span too little to tell.
    if kind != "F16":
        assert found == "the numbers make sense with their bytes swapped: is the file big-endian?"


def test_garbage() -> None:
    noise = np.random.default_rng(0).integers(0, 1 << 32, (64, 32), dtype=np.uint32)
    found = odd_magnitudes(noise.view(np.float32), BY_NAME["F32"])
    assert found is not None
    assert found.endswith(": no weights look like that")
    never = np.full((2, 2), np.nan, np.float32)
    assert odd_magnitudes(never, BY_NAME["F32"]) == "none of the values is finite"


def test_values_of_which_nothing_can_be_said() -> None:
    assert odd_magnitudes(np.full((2, 2), 255, np.uint8), BY_NAME["U8"]) is None
    assert odd_magnitudes(np.zeros((2, 0), np.float32), BY_NAME["F32"]) is None
    assert odd_magnitudes(np.zeros((2, 2), np.float32), BY_NAME["F32"]) is None
