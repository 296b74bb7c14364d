"""Chosen rows of a table, read in few pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from embcalc.core.blocks import RowBlock
from embcalc.core.dtypes import DType
from embcalc.core.tables import TensorInfo
from embcalc.rows.exact import scaled_rows
from embcalc.rows.kernels import Floats, kernels_for, row_lengths, to_float64

_GAP = 32
"""Unwanted rows between two wanted ones that are read along rather than skipped."""


class RowSource(Protocol):
    """What is needed of a checkpoint: shapes, and rows in blocks."""

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """All tensors by stored name."""

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream the rows of a tensor: all, or the contiguous `rows`."""


def runs(wanted: NDArray[np.int64], gap: int = _GAP) -> Iterator[range]:
    """Cut sorted row numbers into ranges that leave no hole larger than `gap`."""
    if len(wanted) == 0:
        return
    breaks = np.flatnonzero(np.diff(wanted) > gap) + 1
    for part in np.split(wanted, breaks):
        yield range(int(part[0]), int(part[-1]) + 1)


def chosen_blocks(
    checkpoint: RowSource, name: str, rows: Iterable[int]
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


def chosen_numbers(checkpoint: RowSource, name: str, rows: Iterable[int]) -> Floats:
    """The chosen rows in ascending order, decoded: float64 `[n, width]`."""
    parts = [
        to_float64(values, dtype) for _, values, dtype in chosen_blocks(checkpoint, name, rows)
    ]
    if parts:
        return np.concatenate(parts)
    return np.empty((0, checkpoint.tensors[name].width))


def unit_rows(checkpoint: RowSource, name: str, rows: Iterable[int]) -> Floats:
    """The chosen rows in ascending order at length 1, float64 `[n, width]`; none may be zero."""
    numbers, _ = scaled_rows(chosen_numbers(checkpoint, name, rows))
    units: Floats = numbers / row_lengths(numbers)[:, None]
    return units


def row_products(
    checkpoint: RowSource, name: str, dtype: DType, directions: Floats
) -> Iterator[tuple[slice, Floats]]:
    """Multiply all rows with `directions`, `[k, width]`, in one pass.

    Yields:
        Which rows, and their products `[n, k]`.
    """
    dots = kernels_for(dtype).dots(directions)
    for block in checkpoint.blocks(name):
        yield slice(block.start, block.start + len(block.values)), dots(block.values)
