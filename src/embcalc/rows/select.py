"""A few chosen rows of a table, without reading the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from embcalc.core.blocks import BLOCK_BYTES, RowBlock
from embcalc.errors import CheckpointError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from embcalc.core.dtypes import DType

RowReader = Callable[[range | None], Iterable[RowBlock]]
"""Streams the rows of one table: all for None, or the contiguous rows of a range."""


def numbers(values: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Decode carried values: formats wider than float32 to float64, all others to float32.

    Raises:
        CheckpointError: there is no decoder for the dtype.
    """
    import numpy as np

    from embcalc.core.decode import to_float32

    if dtype.name in ("F64", "I64", "U64", "I32", "U32"):
        return values.astype(np.float64)
    try:
        return to_float32(values, dtype)
    except ValueError as error:
        raise CheckpointError(
            f"values of type {dtype} cannot be decoded",
            hint="sizes can be read all the same: embcalc inspect",
        ) from error


def small_blocks(blocks: Iterable[RowBlock]) -> Iterator[RowBlock]:
    """Cut blocks that are to be decoded: what that makes of them should stay in the cache.

    Beyond a few megabytes it also goes back to the system each time, and is zeroed again.
    """
    for block in blocks:
        values = block.values
        step = max(1, BLOCK_BYTES // max(1, values[:1].nbytes))
        for at in range(0, len(values), step):
            yield RowBlock(block.start + at, values[at : at + step], block.dtype)


def aligned_rows(values: NDArray[Any]) -> NDArray[Any]:
    """The same rows where kernels can read them: contiguous, each scalar at a multiple of its size.

    A file may store a tensor at any byte; numkong refuses arrays that do not begin at a multiple.
    """
    import numpy as np

    if values.flags.aligned and values.flags.c_contiguous:
        return values
    return np.require(values, requirements=["C", "A"])


def select_rows(read: RowReader, rows: Iterable[int], row_bytes: int) -> NDArray[Any]:
    """Read chosen rows in the order asked for, repeated where asked for twice.

    Args:
        read: streams rows of the table.
        rows: row numbers, at least one, each within the table.
        row_bytes: stored bytes of a row; rows less than a block apart are read together.

    Returns:
        `[len(rows), width]`, float32 or float64 as `numbers` decodes.

    Raises:
        CheckpointError: the values cannot be had.
        SourceError: the file cannot be read.
    """
    import numpy as np

    wanted = list(rows)
    distinct = np.array(sorted(set(wanted)), np.int64)
    found: dict[int, NDArray[np.generic]] = {}
    for span in _spans(distinct.tolist(), max(1, BLOCK_BYTES // max(1, row_bytes))):
        for block in read(span):
            stop = block.start + len(block.values)
            inside = distinct[(distinct >= block.start) & (distinct < stop)]
            picked = numbers(block.values[inside - block.start], block.dtype)
            found.update(zip(inside.tolist(), picked, strict=True))
    return np.stack([found[row] for row in wanted])


def _spans(rows: list[int], gap: int) -> Iterator[range]:
    """Join ascending rows that lie within `gap` rows of each other."""
    start = rows[0]
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        if following is None or following - start >= gap:
            yield range(start, row + 1)
            start = following if following is not None else row
