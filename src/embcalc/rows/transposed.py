"""Vectors that a file stores as columns, streamed as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from embcalc.core.blocks import BLOCK_BYTES, RowBlock
from embcalc.rows.select import RowReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embcalc.core.dtypes import DType

TILE_BYTES = 16 << 20
"""Bytes of the columns that are gathered in one pass over the matrix."""


def columns_as_rows(read: RowReader, columns: range, column_bytes: int) -> Iterator[RowBlock]:
    """Stream columns of a stored matrix `[width, rows]` as rows, `[n, width]`.

    The matrix is passed over once for each tile of columns.

    Args:
        read: streams the matrix as it is stored; a scalar must not be smaller than a byte.
        columns: which columns.
        column_bytes: bytes of one of them.

    Raises:
        CheckpointError: the values cannot be had.
        SourceError: the file cannot be read.
    """
    per_tile = max(1, TILE_BYTES // max(1, column_bytes))
    per_block = max(1, BLOCK_BYTES // max(1, column_bytes))
    for first in range(columns.start, columns.stop, per_tile):
        values, dtype = _tile(read, slice(first, min(first + per_tile, columns.stop)))
        for at in range(0, len(values), per_block):
            yield RowBlock(first + at, values[at : at + per_block], dtype)


def _tile(read: RowReader, columns: slice) -> tuple[NDArray[Any], DType]:
    import numpy as np

    parts = [(block.values[:, columns].copy(), block.dtype) for block in read(None)]
    whole = np.concatenate([values for values, _ in parts])
    return np.ascontiguousarray(whole.T), parts[0][1]
