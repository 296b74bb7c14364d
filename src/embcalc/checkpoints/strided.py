"""Row blocks of a matrix whose scalars do not lie in the order of its axes."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from embcalc.checkpoints.messages import shown
from embcalc.checkpoints.raw import check_rows
from embcalc.core.blocks import BLOCK_BYTES, RowBlock
from embcalc.core.decode import CARRIERS
from embcalc.core.files import File
from embcalc.core.tables import TensorInfo
from embcalc.errors import CheckpointError

TILE_BYTES = 1 << 24
"""Bytes held at once of a matrix that is stored column by column."""


def strided_blocks(  # noqa: PLR0913 - a place has this many coordinates
    file: File,
    offset: int,
    strides: tuple[int, ...],
    tensor: TensorInfo,
    rows: range,
    *,
    big_endian: bool = False,
) -> Iterator[RowBlock]:
    """Gather rows of a view.

    Args:
        file: holds the storage.
        offset: scalars before the first one of the view.
        strides: scalars from one index of each axis to the next.
        tensor: shape and dtype of the view.
        rows: which rows.
        big_endian: whether scalars are stored with their highest byte first.

    Raises:
        CheckpointError: it has more than two axes that are out of order.
        SourceError: the file cannot be read.
    """
    check_rows(tensor, rows)
    row_step, step = _two_steps(tensor, strides)
    carrier = np.dtype(CARRIERS[tensor.dtype.name])
    stored = carrier.newbyteorder(">") if big_endian else carrier
    if not tensor.width:
        return
    gather = _by_columns if step > row_step else _by_rows
    bytes_at_once = TILE_BYTES if step > row_step else BLOCK_BYTES
    per_block = max(1, bytes_at_once // (tensor.width * carrier.itemsize))
    for first in range(rows.start, rows.stop, per_block):
        count = min(per_block, rows.stop - first)
        begin = offset + first * row_step
        shape = (count, tensor.width)
        values = gather(file, begin, (row_step, step), shape, stored)
        yield RowBlock(first, np.ascontiguousarray(values, dtype=carrier), tensor.dtype)


def _two_steps(tensor: TensorInfo, strides: tuple[int, ...]) -> tuple[int, int]:
    """Reduce to rows and columns; the axes behind the second must be in order."""
    if len(strides) < 2:
        return (strides[0] if strides else 1), 1
    for axis in range(2, len(strides)):
        if tensor.shape[axis] > 1 and strides[axis - 1] != strides[axis] * tensor.shape[axis]:
            raise CheckpointError(
                f"the axes of {shown(tensor.name)} are stored out of order, {len(strides)} of them",
                hint="save it with .contiguous()",
            )
    return strides[0], strides[-1] if prod(tensor.shape[1:]) > 1 else 1


def _by_rows(
    file: File, begin: int, steps: tuple[int, int], shape: tuple[int, int], kind: np.dtype[np.void]
) -> NDArray[np.void]:
    """Read each row as one span; rows that lie close together in one."""
    span = (shape[1] - 1) * steps[1] + 1
    if steps[0] <= 4 * span:
        whole = (shape[0] - 1) * steps[0] + span
        return _view(_scalars(file, begin, whole, kind), shape, steps)
    each = [
        _view(_scalars(file, begin + row * steps[0], span, kind), (1, shape[1]), (0, steps[1]))
        for row in range(shape[0])
    ]
    return np.concatenate(each)


def _by_columns(
    file: File, begin: int, steps: tuple[int, int], shape: tuple[int, int], kind: np.dtype[np.void]
) -> NDArray[np.void]:
    """Read each column of a tile as one span."""
    values = np.empty(shape, kind)
    span = (shape[0] - 1) * steps[0] + 1
    for column in range(shape[1]):
        scalars = _scalars(file, begin + column * steps[1], span, kind)
        values[:, column] = scalars[:: steps[0]] if steps[0] else scalars[0]
    return values


def _scalars(file: File, begin: int, count: int, kind: np.dtype[np.void]) -> NDArray[np.void]:
    data = file.read(begin * kind.itemsize, count * kind.itemsize)
    if len(data) < count * kind.itemsize:
        raise CheckpointError(
            f"{file.local_path or file.name} ends inside a tensor", hint="download it again"
        )
    return np.frombuffer(data, kind)


def _view(
    values: NDArray[np.void], shape: tuple[int, int], steps: tuple[int, int]
) -> NDArray[np.void]:
    size = values.itemsize
    return as_strided(values, shape, (steps[0] * size, steps[1] * size), writeable=False)
