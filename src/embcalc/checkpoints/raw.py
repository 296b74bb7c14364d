"""Row blocks of matrices that lie in a file as plain scalars, one row after the other."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np

from embcalc.checkpoints.base import BLOCK_BYTES, RowBlock
from embcalc.checkpoints.messages import shown
from embcalc.core.blocks import stored_bytes
from embcalc.core.decode import CARRIERS, to_float32
from embcalc.core.dtypes import BY_NAME
from embcalc.core.files import Buffer, File
from embcalc.core.tables import TensorInfo
from embcalc.errors import CheckpointError

WIDEST_ROW = 1 << 28
"""Bytes of one row past which nothing is read: no vocabulary is that large."""


def row_blocks(
    file: File, start: int, tensor: TensorInfo, rows: range, *, big_endian: bool = False
) -> Iterator[RowBlock]:
    """Stream rows of a matrix whose first byte is `start`.

    Scalars of the other byte order are swapped. Rows of a sub-byte format that do not begin on
    a byte come decoded, as F32.

    Raises:
        CheckpointError: no row fits into memory, or the rows are not there.
        SourceError: the file cannot be read.
    """
    check_rows(tensor, rows)
    row_bits = tensor.dtype.bits * tensor.width
    if row_bits > 8 * WIDEST_ROW:
        raise CheckpointError(
            f"rows of {shown(tensor.name)} take {row_bits // 8:,} bytes each: too wide to read",
            hint="that is the shape of no embedding table; name another with --tensor",
        )
    if row_bits % 8:
        yield from _unaligned(file, start, tensor, rows)
        return
    carrier = np.dtype(CARRIERS[tensor.dtype.name])
    swap = big_endian and carrier.itemsize > 1
    row_bytes = row_bits // 8
    row = rows.start
    if not row_bytes or not len(rows):
        if len(rows):
            yield RowBlock(row, np.empty((len(rows), 0), carrier), tensor.dtype)
        return
    per_block = max(1, stored_bytes(tensor.dtype.bits) // row_bytes)
    first = start + rows.start * row_bytes
    for piece in file.stream(first, len(rows) * row_bytes, per_block * row_bytes):
        values = np.frombuffer(piece, carrier.newbyteorder(">") if swap else carrier)
        if swap or not values.flags.aligned:
            # Data may begin at any byte of a file; kernels want a number at its own address.
            values = values.astype(carrier)
        yield RowBlock(row, values.reshape(len(piece) // row_bytes, -1), tensor.dtype)
        row += len(piece) // row_bytes


def check_rows(tensor: TensorInfo, rows: range) -> None:
    """Refuse rows that a tensor does not have.

    Raises:
        CheckpointError: they lie outside, or are no contiguous ascending range.
    """
    if rows.step != 1 or rows.start < 0 or rows.stop > tensor.rows:
        raise CheckpointError(
            f"rows {rows.start:,}-{rows.stop - 1:,} are not in {shown(tensor.name)}:"
            f" it has {tensor.rows:,}"
        )


def _unaligned(file: File, start: int, tensor: TensorInfo, rows: range) -> Iterator[RowBlock]:
    """Decode rows that begin inside a byte, several at a time so that each group begins on one."""
    row_bits = tensor.dtype.bits * tensor.width
    group = 24 // gcd(24, row_bits)
    group *= max(1, 8 * BLOCK_BYTES // (group * row_bits))
    for first in range(rows.start - rows.start % group, rows.stop, group):
        last = min(first + group, tensor.rows)
        begin, end = first * row_bits // 8, -(-last * row_bits // 8)
        packed = np.frombuffer(file.read(start + begin, end - begin), np.uint8)
        packed = np.pad(packed, (0, -len(packed) % 3))
        flat = to_float32(packed[None], tensor.dtype)[0, : (last - first) * tensor.width]
        values = flat.reshape(-1, tensor.width)
        values = values[max(0, rows.start - first) : rows.stop - first]
        yield RowBlock(max(first, rows.start), values, BY_NAME["F32"])


class Slice:
    """A part of a file as a file of its own."""

    def __init__(self, file: File, start: int, size: int) -> None:
        self._file = file
        self._start = start
        self.name = file.name
        self.size = size
        self.local_path = file.local_path

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """Read a byte range."""
        rest = max(0, self.size - start)
        return self._file.read(self._start + start, rest if length is None else min(length, rest))

    def stream(self, start: int, length: int, block: int) -> Iterator[Buffer]:
        """Yield a byte range in pieces."""
        return self._file.stream(self._start + start, length, block)
