"""Directions that many rows share: collapsed clusters, without all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embcalc.rows.access import RowSource, row_products, unit_rows
from embcalc.rows.kernels import Floats
from embcalc.rows.scan import RowScan

CLUSTER_COSINE = 0.9
MIN_CLUSTER_SHARE = 0.01
"""Part of the rows that a cluster holds at least."""
MIN_CLUSTER_ROWS = 8
_MAX_CLUSTERS = 4
_MOST_MISSES = 3
"""Huddles that turn out to be none, after which no more are looked into."""
_POOL = 1536
"""Rows, evenly spread over the table, among which huddles are looked for."""
_PARTNERS = 5
"""Rows of the pool that make a huddle with another: a third of what a cluster has there."""
_HUDDLE = 0.75
"""Mean square difference of their coordinates: that of rows of cosine 0.81 is 0.38 by design, that
of unrelated ones 2."""
_DENSE = 0.45
"""The same for the fifth partner of the densest row, below which rows are read for it. Among
unrelated rows that is hardly seen; of a cluster's it is about 0.3."""
_READ = 24
"""Rows of a huddle that are read for its middle."""
_ROUNDS = 2
_SETTLED = 1024
"""Rows that a middle is taken from in each round, after which it hardly moves."""
_PAIR_COSINE = 0.8
"""Rows within cosine 0.9 of a middle have 0.81 with each other."""


@dataclass(frozen=True, slots=True)
class FoundCluster:
    """Rows within cosine 0.9 of one centre."""

    rows: NDArray[np.int64]
    nearest: int
    """The row nearest to the centre."""
    cosine: float
    """Median cosine to the centre."""


def least_of_cluster(rows: int) -> int:
    """Rows that make a cluster of a table of so many."""
    return max(MIN_CLUSTER_ROWS, int(rows * MIN_CLUSTER_SHARE))


def clusters(source: RowSource, name: str, scan: RowScan) -> tuple[FoundCluster, ...]:
    """Find directions that at least 1% of the rows share.

    The coordinates of some rows are compared pair by pair; only where enough of them huddle
    together are a few rows read again, and where those do point one way, all.

    Args:
        source: where rows can be read again.
        name: the table.
        scan: of its rows.
    """
    if scan.signatures is None:
        return ()
    found: list[FoundCluster] = []
    least = least_of_cluster(len(scan.norms))
    free = np.isfinite(scan.norms) & (scan.norms > 0)
    pool = _Pool.of(scan.signatures.coordinates, np.flatnonzero(free))
    misses = 0
    while misses < _MOST_MISSES and len(found) < _MAX_CLUSTERS:
        huddle = pool.densest()
        if huddle is None:
            break
        centre = _middle(source, name, huddle)
        if centre is None:
            misses += 1
            pool.leave_out(huddle[:1])
            continue
        cosines = _settled(source, name, scan, centre, free)
        near = (cosines > CLUSTER_COSINE) & free
        free &= ~near
        pool.leave_out(np.append(np.flatnonzero(near), huddle[0]))
        if near.sum() < least:
            misses += 1
        else:
            found.append(
                FoundCluster(
                    np.flatnonzero(near),
                    int(np.argmax(np.where(near, cosines, -2.0))),
                    float(np.median(cosines[near])),
                )
            )
    return tuple(found)


def _settled(
    source: RowSource, name: str, scan: RowScan, centre: Floats, free: NDArray[np.bool_]
) -> Floats:
    """Cosines of all rows to the middle of the rows that are near to a first guess of it."""
    for _ in range(_ROUNDS):
        cosines = cosines_to(source, name, scan, centre)
        near = np.flatnonzero((cosines > CLUSTER_COSINE) & free)
        if not len(near):
            return cosines
        units = unit_rows(source, name, near[:: -(-len(near) // _SETTLED)].tolist())
        centre = units.mean(axis=0)
    return cosines_to(source, name, scan, centre)


class _Pool:
    """Some rows of a table, and how far apart their coordinates lie."""

    def __init__(self, rows: NDArray[np.int64], apart: NDArray[np.float32]) -> None:
        self._rows = rows
        self._apart = apart

    @classmethod
    def of(cls, coordinates: NDArray[np.float32], rows: NDArray[np.int64]) -> _Pool:
        """Take rows that are evenly spread over those given."""
        chosen = rows[:: max(1, -(-len(rows) // _POOL))]
        points = coordinates[chosen]
        squares = np.einsum("ij,ij->i", points, points)
        apart = squares[:, None] + squares - 2 * (points @ points.T)
        return cls(chosen, apart / np.float32(max(1, points.shape[1])))

    def densest(self) -> NDArray[np.int64] | None:
        """The rows around the one whose partners are nearest, that one first; None for none."""
        if len(self._rows) <= _PARTNERS:
            return None
        # Each row is its own first partner.
        dense = np.flatnonzero(np.count_nonzero(self._apart <= _DENSE, axis=1) > _PARTNERS)
        if not len(dense):
            return None
        reach = np.partition(self._apart[dense], _PARTNERS, axis=1)[:, _PARTNERS]
        best = int(dense[np.argmin(reach)])
        nearest = np.argsort(self._apart[best], kind="stable")[:_READ]
        nearest = nearest[self._apart[best, nearest] <= _HUDDLE]
        rows: NDArray[np.int64] = np.append(self._rows[best], self._rows[nearest[nearest != best]])
        return rows

    def leave_out(self, rows: NDArray[np.int64]) -> None:
        """Look no more at some rows."""
        left = ~np.isin(self._rows, rows)
        self._rows, self._apart = self._rows[left], self._apart[left][:, left]


def _middle(source: RowSource, name: str, huddle: NDArray[np.int64]) -> Floats | None:
    """The mean of the rows that point one way among some; None where too few do."""
    units = unit_rows(source, name, huddle.tolist())
    near = units @ units.T > _PAIR_COSINE
    best = int(np.argmax(np.count_nonzero(near, axis=1)))
    if np.count_nonzero(near[best]) <= _PARTNERS:
        return None
    centre: Floats = units[near[best]].mean(axis=0)
    return centre


def cosines_to(source: RowSource, name: str, scan: RowScan, direction: Floats) -> Floats:
    """Cosine of every row to a direction `[width]`, in one more pass; NaN for ill rows."""
    unit = direction[None] / np.linalg.norm(direction)
    products = np.zeros(len(scan.norms))
    for here, found in row_products(source, name, scan.dtype, unit):
        products[here] = found[:, 0]
    return cosines(products, scan.norms)


def cosines(products: Floats, norms: Floats) -> Floats:
    """Cosines from products with a unit vector and norms, both `[rows]`; NaN for ill rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(np.isfinite(norms), products / norms, np.nan)
    return result
