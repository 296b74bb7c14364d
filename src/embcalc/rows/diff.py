"""Two tables compared row by row, in one pass over both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embcalc.core.blocks import RowBlock
from embcalc.core.decode import to_float64
from embcalc.rows.exact import exact_norms, scaled_rows
from embcalc.rows.judge import FIRST_COLUMNS, KERNELS, SAFE_NORMS
from embcalc.rows.select import aligned_rows, numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embcalc.core.dtypes import DType

    Floats = NDArray[np.float64]

FRACTION_BITS = {
    "F64": 52, "F32": 23, "F16": 10, "BF16": 7, "F8_E4M3": 3, "F8_E4M3FNUZ": 3,
    "F8_E5M2": 2, "F8_E5M2FNUZ": 2,
}  # fmt: skip
"""Bits after the leading one: fewer are coarser."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The same rows of both tables, as stored; empty on a side that has no such rows."""

    start: int
    a: RowBlock | None
    b: RowBlock | None


def aligned(a: Iterable[RowBlock], b: Iterable[RowBlock]) -> Iterator[Pair]:
    """Cut two streams of blocks at the same rows, whatever their block sizes.

    After the shorter table ends, the pairs hold the other's rows alone.
    """
    left, right = _Stream(a), _Stream(b)
    while True:
        more_a, more_b = left.fill(), right.fill()
        if not more_a and not more_b:
            return
        count = min(side.left for side, more in ((left, more_a), (right, more_b)) if more)
        start = left.row if more_a else right.row
        yield Pair(
            start, left.take(count) if more_a else None, right.take(count) if more_b else None
        )


class _Stream:
    """Blocks that can be taken in smaller pieces."""

    def __init__(self, blocks: Iterable[RowBlock]) -> None:
        self._blocks = iter(blocks)
        self._block: RowBlock | None = None
        self._at = 0

    @property
    def left(self) -> int:
        """Rows of the current block that were not taken."""
        return 0 if self._block is None else len(self._block.values) - self._at

    @property
    def row(self) -> int:
        """Number of the next row."""
        return 0 if self._block is None else self._block.start + self._at

    def fill(self) -> bool:
        """Move to a block with rows left; False at the end."""
        while not self.left:
            self._block = next(self._blocks, None)
            self._at = 0
            if self._block is None:
                return False
        return True

    def take(self, count: int) -> RowBlock:
        """Take rows of the current block."""
        if self._block is None:
            raise IndexError("no rows left")
        row, at = self.row, self._at
        self._at += count
        return RowBlock(row, self._block.values[at : self._at], self._block.dtype)


def coarser(a: DType, b: DType) -> DType:
    """The dtype of fewer fraction bits; `a` of two alike, the other one of an unknown."""
    bits = [FRACTION_BITS.get(dtype.name, 99) for dtype in (a, b)]
    return b if bits[1] < bits[0] else a


def rounded_to(block: RowBlock, target: DType) -> NDArray[Any]:
    """The values of a block as `target` carries them, rounded to nearest even.

    Raises:
        CheckpointError: there is no decoder for the block's dtype.
    """
    if block.dtype == target:
        return block.values
    values = numbers(block.values, block.dtype)
    kind = _numpy_type(target.name)
    with np.errstate(over="ignore", invalid="ignore"):
        held = values.astype(kind)
    return held.view(np.uint16) if target.name == "BF16" else held.view(_carrier(held))


def _numpy_type(name: str) -> np.dtype[Any]:
    plain = {"F64": np.float64, "F32": np.float32, "F16": np.float16}
    if name in plain:
        return np.dtype(plain[name])
    import ml_dtypes

    others: dict[str, Any] = {
        "BF16": ml_dtypes.bfloat16,
        "F8_E4M3": ml_dtypes.float8_e4m3fn,
        "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
        "F8_E5M2": ml_dtypes.float8_e5m2,
        "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    }
    kind: np.dtype[Any] = np.dtype(others[name])
    return kind


def _carrier(values: NDArray[Any]) -> np.dtype[Any]:
    return np.dtype(np.uint8) if values.dtype.itemsize == 1 else values.dtype


def different_rows(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers of the rows whose bits differ.

    Args:
        a: `[rows, columns]`, carried values.
        b: the same shape and type.
    """
    left, right = _words(a), _words(b)
    unequal = left != right
    if not unequal.any():
        return np.zeros(0, np.int64)
    return np.flatnonzero(unequal.any(axis=1))


def same_values(a: Iterable[RowBlock], b: Iterable[RowBlock]) -> bool:
    """Whether two tables hold the same bits; nothing is read past the first difference."""
    for pair in aligned(a, b):
        if pair.a is None or pair.b is None or pair.a.dtype != pair.b.dtype:
            return False
        if len(different_rows(pair.a.values, pair.b.values)):
            return False
    return True


def _words(values: NDArray[Any]) -> NDArray[Any]:
    """Rows as the largest unsigned integers that fit them: fewer comparisons."""
    whole = np.ascontiguousarray(values)
    row_bytes = whole.shape[1] * whole.dtype.itemsize
    size = next(size for size in (8, 4, 2, 1) if row_bytes % size == 0)
    return whole.view(f"u{size}") if row_bytes else whole.view("u1")


def changes(a: NDArray[Any], b: NDArray[Any], dtype: DType) -> tuple[Floats, Floats]:
    """How far rows moved: fast, and in float64 where a fast number cannot be trusted.

    Args:
        a: `[rows, columns]`, carried values of `dtype`.
        b: the same shape.
        dtype: of both.

    Returns:
        Norms of `b - a`, infinite where a row is not finite; cosines, NaN where there is none.
        Both `[rows]`, within 1e-3 of their size where fast.
    """
    name = KERNELS.get(dtype.name)
    if name is None:
        return exact_changes(to_float64(a, dtype), to_float64(b, dtype))
    import numkong

    left, right = aligned_rows(a), aligned_rows(b)
    deltas = np.array(numkong.euclidean(left, right, dtype=name)).reshape(-1)
    cosines = 1 - np.asarray(numkong.angular(left, right, dtype=name)).reshape(-1)
    low, high = SAFE_NORMS
    # Exactly 0 is also what the kernel says when squares overflow.
    sure = (deltas > low) & (deltas < high) & np.isfinite(cosines) & (cosines != 0)
    for side in (left, right):
        norms = np.asarray(numkong.norm(side[:, :FIRST_COLUMNS], axis=1, dtype=name))
        sure &= (norms > low) & (norms < high)
    if not sure.all():
        doubtful = np.flatnonzero(~sure)
        deltas[doubtful], cosines[doubtful] = exact_changes(
            to_float64(left[doubtful], dtype), to_float64(right[doubtful], dtype)
        )
    return deltas, cosines


def exact_changes(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """As `changes`, all in float64 on decoded rows."""
    with np.errstate(all="ignore"):
        deltas, _ = exact_norms(b - a)
        left, right = scaled_rows(a)[0], scaled_rows(b)[0]
        norms = np.sqrt(np.square(left).sum(axis=1) * np.square(right).sum(axis=1))
        cosines = (left * right).sum(axis=1) / norms
    same = ((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=1)
    deltas[~np.isfinite(deltas)] = np.inf
    deltas[same] = 0.0
    cosines[~np.isfinite(cosines)] = np.nan
    return deltas, cosines


@dataclass(slots=True)
class Spread:
    """Mean of rows and their distance from it, summed up block by block."""

    total: Floats
    squares: float = 0.0
    count: int = 0

    def add(self, block: RowBlock) -> None:
        """Count the finite rows of a block."""
        values = to_float64(block.values, block.dtype)
        values = values[np.isfinite(values).all(axis=1)]
        self.total = self.total + values.sum(axis=0)
        with np.errstate(over="ignore"):
            self.squares += float(np.square(values).sum())
        self.count += len(values)

    @property
    def mean(self) -> Floats:
        """Mean row; zeros where there is none."""
        return self.total / max(1, self.count)

    @property
    def distance(self) -> float:
        """Root mean square distance of the rows from their mean."""
        mean = self.mean
        variance = self.squares / max(1, self.count) - float(mean @ mean)
        return float(np.sqrt(max(0.0, variance)))


def merged(spreads: Iterable[Spread], width: int) -> Spread:
    """Add up the sums of several shares, in their order."""
    whole = Spread(np.zeros(width))
    for spread in spreads:
        whole.total = whole.total + spread.total
        whole.squares += spread.squares
        whole.count += spread.count
    return whole
