"""A lookup done the long way: one-hot vectors times the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from embcalc.rows.select import RowReader, numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray


def one_hot_difference(read: RowReader, ids: Sequence[int], vectors: NDArray[Any]) -> float:
    """Multiply the one-hot matrix of `ids` with the table and compare with looked-up rows.

    Table and one-hot matrix are taken block by block, so that neither is ever whole.

    Args:
        read: streams rows of the table.
        ids: `n` token ids.
        vectors: their rows, `[n, width]`.

    Returns:
        The largest absolute difference. It is 0 for a table of finite numbers: each sum has one
        term `1 · x` and otherwise zeros. Where any row of the table is not finite it is NaN,
        since `0 · inf` is NaN: there the product is not the lookup.
    """
    import numpy as np

    wanted = np.asarray(ids, np.int64)
    product = np.zeros_like(vectors)
    for block in read(None):
        values = numbers(block.values, block.dtype)
        rows = np.arange(block.start, block.start + len(values))
        one_hot = (wanted[:, None] == rows[None, :]).astype(vectors.dtype)
        with np.errstate(invalid="ignore"):
            product += one_hot @ values
    with np.errstate(invalid="ignore"):
        return float(np.abs(product - vectors).max(initial=0.0))
