"""Chosen rows of a table, read in few pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.checkpoints.base import Checkpoint
from embcalc.core.dtypes import DType
from embcalc.rows.kernels import Floats, to_float64

_GAP = 32
"""Unwanted rows between two wanted ones that are read along rather than skipped."""


def runs(wanted: NDArray[np.int64], gap: int = _GAP) -> Iterator[range]:
    """Cut sorted row numbers into ranges that leave no hole larger than `gap`."""
    if len(wanted) == 0:
        return
    breaks = np.flatnonzero(np.diff(wanted) > gap) + 1
    for part in np.split(wanted, breaks):
        yield range(int(part[0]), int(part[-1]) + 1)


def chosen_blocks(
    checkpoint: Checkpoint, name: str, rows: Iterable[int]
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any], DType]]:
    """Yield the chosen rows as row numbers `[n]`, carried values `[n, columns]` and dtype.

    In ascending order, each row once; values are copies.
    """
    wanted = np.unique(np.fromiter(rows, dtype=np.int64))
    for run in runs(wanted):
        for block in checkpoint.blocks(name, run):
            end = block.start + len(block.values)
            here = wanted[np.searchsorted(wanted, block.start) : np.searchsorted(wanted, end)]
            if len(here):
                yield here, block.values[here - block.start], block.dtype


def chosen_numbers(checkpoint: Checkpoint, name: str, rows: Iterable[int]) -> Floats:
    """The chosen rows in ascending order, decoded: float64 `[n, width]`."""
    parts = [to_float64(values, dtype) for _, values, dtype in chosen_blocks(checkpoint, name, rows)]
    if parts:
        return np.concatenate(parts)
    return np.empty((0, checkpoint.tensors[name].width))
