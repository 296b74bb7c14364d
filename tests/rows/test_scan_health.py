"""The shortest pass: the same rows are broken, near zero and identical as by the whole one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from embcalc.checkpoints import open_checkpoint
from embcalc.rows.health import judge
from embcalc.rows.scan import scan, scan_health
from embcalc.sources import locate

NAME = "model.embed_tokens.weight"


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("rows", "width"), [(300, 4096), (300, 1000), (7, 3)])
def test_both_passes_agree(
    tiny_checkpoint: Callable[..., Path], dtype: Any, rows: int, width: int
) -> None:
    values = np.random.default_rng(1).normal(0, 0.02, (rows, width))
    values[1], values[2], values[3] = 0, np.nan, values[4]
    values[5] *= 1e-4
    folder = tiny_checkpoint({NAME: values.astype(dtype)})
    checkpoint = open_checkpoint(locate(str(folder)).folder)
    whole, short = scan(checkpoint, NAME), scan_health(checkpoint, NAME)
    assert np.array_equal(whole.keys, short.keys)
    assert np.allclose(whole.norms, short.norms, rtol=1e-5, atol=0, equal_nan=True)
    one, other = judge(whole.norms, whole.nonfinite), judge(short.norms, short.nonfinite)
    for name in ("zero", "near_zero", "nonfinite"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert one.zero[1]
    assert one.nonfinite[2]


def test_threads_change_nothing(tmp_path: Path) -> None:
    from benchmarks.row_norms import write_table

    write_table(tmp_path / "model.safetensors", "BF16", 9_000, 2_048)
    checkpoint = open_checkpoint(locate(str(tmp_path)).folder)
    told: list[int] = []

    def progress(label: str, done: int, total: int) -> None:
        told.append(done)

    alone = scan_health(checkpoint, NAME)
    shared = scan_health(checkpoint, NAME, workers=3, progress=progress)
    assert alone.same_rows(shared)
    assert told[-1] == checkpoint.tensors[NAME].nbytes


def test_an_empty_table(tiny_checkpoint: Callable[..., Path]) -> None:
    folder = tiny_checkpoint({NAME: np.zeros((0, 8), np.float32)})
    assert len(scan_health(open_checkpoint(locate(str(folder)).folder), NAME).norms) == 0
