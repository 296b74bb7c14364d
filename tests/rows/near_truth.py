"""Near-duplicates and clusters by brute force, and rows that have some."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from embcalc.checkpoints import Checkpoint, open_checkpoint
from embcalc.sources import locate

Rows = NDArray[np.float64]
SCALARS: dict[str, Any] = {"F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}


def unit(rows: Rows) -> Rows:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float64)


def turned(random: np.random.Generator, rows: Rows, cosine: Any) -> Rows:
    """Rows of other lengths whose cosines to the given ones are as wanted, `[n, 1]` or one."""
    along = unit(rows)
    noise = random.normal(0, 1, rows.shape)
    noise = unit(noise - (noise * along).sum(axis=1, keepdims=True) * along)
    sine = np.sqrt(1 - np.square(cosine))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True) * np.exp(random.uniform(-1, 1))
    return np.asarray((along * cosine + noise * sine) * lengths, np.float64)


def with_near_ones(random: np.random.Generator, rows: Rows, count: int) -> Rows:
    """Make rows into near-duplicates of others, some a little nearer than 0.9999, some farther."""
    rows = rows.copy()
    order = random.permutation(len(rows))
    away = 10 ** random.uniform(-8, -3.5, (count, 1))
    rows[order[:count]] = turned(random, rows[order[count : 2 * count]], 1 - away)
    return rows


def stored(folder: Path, rows: Rows, dtype: str = "F32") -> tuple[Checkpoint, Rows]:
    """A file of one table `t`, and the numbers that it holds."""
    values = rows.astype(SCALARS[dtype])
    entry = {"dtype": dtype, "shape": list(rows.shape), "data_offsets": [0, values.nbytes]}
    head = json.dumps({"t": entry}).encode()
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(head)) + head + values.tobytes())
    place = locate(str(path))
    return open_checkpoint(place.folder, place.file), values.astype(np.float64)


def near_rows(rows: Rows, cosine: float = 0.9999) -> set[int]:
    """Rows that are nearer than `cosine` to any other, of all pairs; the last word is float64's."""
    units = unit(rows)
    rough = units.astype(np.float32)
    found: set[int] = set()
    for start in range(0, len(rows), 1024):
        first, second = np.nonzero(rough[start : start + 1024] @ rough[start:].T > cosine - 1e-5)
        first, second = first + start, second + start
        first, second = first[first < second], second[first < second]
        close = np.einsum("ij,ij->i", units[first], units[second]) > cosine
        found.update(first[close].tolist(), second[close].tolist())
    return found
