from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from embcalc.checkpoints.values import value_problems
from tests.checkpoints.conftest import opened

TABLE = np.random.default_rng(0).normal(0, 0.02, (600, 128)).astype(np.float32)


def problems(folder: Path, tensors: Mapping[str, Any], names: list[str] | None = None) -> list[str]:
    save_file(dict(tensors), folder / "m.safetensors")
    checkpoint = opened(folder / "m.safetensors")
    return [problem.message for problem in value_problems(checkpoint, names)]


def test_matrices_of_zeros_are_listed(tmp_path: Path) -> None:
    late = np.zeros_like(TABLE)
    late[-1, -1] = 1
    tensors = {
        "a": TABLE, "b": np.zeros((4, 4), np.float32), "bias": np.zeros(4, np.float32),
        "late": late, "ids": np.zeros((4, 4), np.int64), "empty": np.zeros((0, 4), np.float32),
        "x.lora_B.weight": np.zeros((4, 4), np.float32),
    }  # fmt: skip
    found = problems(tmp_path, tensors)
    assert found == ["1 of 3 matrices hold nothing but zeros: b"]


def test_swapped_bytes_and_garbage(tmp_path: Path) -> None:
    tensors = {"good": TABLE, "swapped": TABLE.byteswap()}
    found = problems(tmp_path, tensors)
    assert found == [
        "swapped: the numbers make sense with their bytes swapped: is the file big-endian?"
    ]
    assert problems(tmp_path, tensors, ["good"]) == []


def test_values_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    quantised = {
        "a.qweight": np.zeros((128, 3), np.int32),
        "a.scales": np.zeros((2, 24), np.float16),
        "a.qzeros": np.zeros((2, 3), np.int32),
    }
    assert problems(tmp_path, quantised) == []
