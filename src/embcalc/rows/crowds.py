"""Close pairs among many points of few dimensions, without comparing all pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float32]
Rows = NDArray[np.int64]

_LEAF = 256
"""Points that are compared pair by pair."""
_NEAREST = 2
"""Points that each one is paired with, at most."""
_OVERLAP = 1.2
"""Reaches that points on both sides of a cut lie apart at most to be told to both."""


def close_pairs(points: Points, rows: Rows, reach: float) -> Iterator[tuple[Rows, Rows]]:
    """Find for each point the nearest ones whose root mean square difference is below `reach`.

    Enough pairs come to join all points of a heap, not all pairs of it. Points are cut in halves
    along their widest axis until few are left, which are compared pair by pair. Those near a cut
    go to both sides: a pair is lost only where its difference along that one axis is more than
    1.2 times `reach`.

    Args:
        points: `[n, k]`.
        rows: numbers of some of the points, in any order.
        reach: of a pair that is wanted.

    Yields:
        Both rows of each pair, `[m]`, the lower first; a pair may come more than once. Points that
        cannot be cut apart are compared with a few neighbours along their widest axis.
    """
    waiting = [rows]
    while waiting:
        some = waiting.pop()
        if len(some) <= _LEAF:
            yield _in_leaf(points, some, reach)
            continue
        halves = _cut(points[some], _OVERLAP * reach)
        if halves is None:
            yield from _in_slices(points, some, reach)
        else:
            waiting += [some[half] for half in halves]


def _cut(points: Points, overlap: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Both sides of a cut `[n]` each; None where all points would be on one of them."""
    axis = int(np.argmax(points.std(axis=0)))
    places = points[:, axis]
    middle = float(np.median(places))
    low, high = places <= middle + overlap / 2, places >= middle - overlap / 2
    if max(np.count_nonzero(low), np.count_nonzero(high)) > 0.9 * len(places):
        return None
    return low, high


def _in_slices(points: Points, rows: Rows, reach: float) -> Iterator[tuple[Rows, Rows]]:
    """Points side by side along the widest axis, with one of the slice before to join them."""
    axis = int(np.argmax(points[rows].std(axis=0)))
    ordered = rows[np.argsort(points[rows, axis], kind="stable")]
    for start in range(0, len(ordered), _LEAF):
        yield _in_leaf(points, ordered[max(0, start - 1) : start + _LEAF], reach)


def _in_leaf(points: Points, rows: Rows, reach: float) -> tuple[Rows, Rows]:
    rows = np.sort(rows)
    here = points[rows].astype(np.float64)
    here -= here.mean(axis=0) if len(here) else 0.0
    squares = np.einsum("ij,ij->i", here, here)
    apart = squares[:, None] + squares - 2 * (here @ here.T)
    np.fill_diagonal(apart, np.inf)
    limit = here.shape[1] * reach**2
    lonely = apart.min(axis=1, initial=np.inf) >= limit
    apart, rows = apart[~lonely][:, ~lonely], rows[~lonely]
    nearest = np.argsort(apart, axis=1, kind="stable")[:, :_NEAREST]
    # The first that is close joins all of a heap, of which the nearest are any.
    others = np.column_stack((np.argmax(apart < limit, axis=1), nearest)) if len(rows) else nearest
    first = np.repeat(np.arange(len(rows)), others.shape[1])
    second = others.ravel()
    close = apart[first, second] < limit
    one, other = rows[first[close]], rows[second[close]]
    return np.minimum(one, other), np.maximum(one, other)
