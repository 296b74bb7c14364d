"""Vectors that a file stores as columns, streamed as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from embcalc.core.blocks import BLOCK_BYTES, RowBlock
from embcalc.rows.select import RowReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embcalc.core.dtypes import DType
    from embcalc.core.tables import EmbeddingTable, TensorInfo
    from embcalc.rows.access import RowSource

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


class TurnedRows:
    """A checkpoint in which tables that are stored as columns look like the others.

    The tile that was gathered last is kept: rows that are asked for in ascending order cost one
    pass over the matrix for each tile that they lie in. Not to be shared by threads.
    """

    def __init__(self, inner: RowSource, tables: Iterable[EmbeddingTable]) -> None:
        self._inner = inner
        self._turned = {
            table.name: replace(table.tensor, shape=(table.rows, table.width)) for table in tables
        }
        self._kept: tuple[str, int, NDArray[Any], DType] | None = None
        self.tensors: Mapping[str, TensorInfo] = {**inner.tensors, **self._turned}

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream rows: all, or the contiguous `rows`."""
        tensor = self._turned.get(name)
        if tensor is None:
            return self._inner.blocks(name, rows)
        return self._rows(tensor, range(tensor.rows) if rows is None else rows)

    def _rows(self, tensor: TensorInfo, rows: range) -> Iterator[RowBlock]:
        row_bytes = max(1, tensor.dtype.nbytes(tensor.width))
        per_tile = max(1, TILE_BYTES // row_bytes)
        per_block = max(1, BLOCK_BYTES // row_bytes)
        row = rows.start
        while row < rows.stop and tensor.width:
            first = row - row % per_tile
            values, dtype = self._tile(tensor, first, per_tile)
            stop = min(row + per_block, rows.stop, first + len(values))
            yield RowBlock(row, values[row - first : stop - first], dtype)
            row = stop

    def _tile(self, tensor: TensorInfo, first: int, rows: int) -> tuple[NDArray[Any], DType]:
        if self._kept is None or self._kept[:2] != (tensor.name, first):
            columns = slice(first, min(first + rows, tensor.rows))
            read = partial(self._inner.blocks, tensor.name)
            self._kept = (tensor.name, first, *_tile(read, columns))
        return self._kept[2:]


def _tile(read: RowReader, columns: slice) -> tuple[NDArray[Any], DType]:
    import numpy as np

    parts = [(block.values[:, columns].copy(), block.dtype) for block in read(None)]
    whole = np.concatenate([values for values, _ in parts])
    return np.ascontiguousarray(whole.T), parts[0][1]
