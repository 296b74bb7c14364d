"""Rows that point the same way: near-duplicates and collapsed clusters, without all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embcalc.rows.access import RowSource, chosen_numbers
from embcalc.rows.fingerprints import alike
from embcalc.rows.kernels import Floats, kernels_for, row_lengths
from embcalc.rows.sample import Sample
from embcalc.rows.scan import RowScan
from embcalc.rows.signatures import Signatures

NEAR_COSINE = 0.9999
CLUSTER_COSINE = 0.9
MIN_CLUSTER_SHARE = 0.01
"""Part of the rows that a cluster holds at least."""
MIN_CLUSTER_ROWS = 8
_MAX_CLUSTERS = 4
_LEADERS = 32
"""Rows of one signature whose surroundings are looked at."""
_LIKELY = 0.06
"""Estimated distance of unit rows below which they are compared; cosine 0.9999 is 0.014."""
_BATCH = 256
_GRAM_COLUMNS = 1024
_SAMPLE_HITS = 4
"""Rows of the sample that make a cluster worth a second pass."""


def near_groups(
    source: RowSource, name: str, scan: RowScan, left_out: NDArray[np.bool_]
) -> tuple[tuple[int, ...], ...] | None:
    """Groups of rows whose cosine exceeds 0.9999 to another of their group.

    Args:
        source: where rows can be read again.
        name: the table.
        scan: of its rows.
        left_out: rows `[rows]` that are not compared: ill rows, repetitions of a row.

    Returns:
        Ascending groups, or None for a table too narrow.
    """
    if scan.signatures is None:
        return None
    pairs: set[tuple[int, int]] = set()
    rows = np.flatnonzero(~left_out)
    for band in range(scan.signatures.bands.shape[1]):
        places, starts = alike(scan.signatures.bands[rows, band])
        pairs.update(_pairs_of_band(scan.signatures, rows[places], starts))
    chains = _Chains()
    for one, other in _verified(source, name, sorted(pairs)):
        chains.join(one, other)
    return chains.groups()


def _pairs_of_band(
    signatures: Signatures, rows: NDArray[np.int64], starts: NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Pairs of rows `[n]`, side by side by key, that lie close by their coordinates."""
    sizes = np.diff(starts, append=len(rows))
    twos = starts[sizes == 2]
    first, second = rows[twos], rows[twos + 1]
    difference = signatures.coordinates[first] - signatures.coordinates[second]
    close = np.square(difference).mean(axis=1) < _LIKELY**2
    yield from zip(
        np.minimum(first, second)[close].tolist(),
        np.maximum(first, second)[close].tolist(),
        strict=True,
    )
    for start, size in zip(starts[sizes > 2].tolist(), sizes[sizes > 2].tolist(), strict=True):
        yield from _likely_pairs(signatures, rows[start : start + size])


def _likely_pairs(signatures: Signatures, rows: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Pairs that lie close by their coordinates: each leader with all that are close to it."""
    for _ in range(_LEADERS):
        if len(rows) < 2:
            return
        leader, others = int(rows[0]), rows[1:]
        close = signatures.apart(leader, others) < _LIKELY
        for other in others[close].tolist():
            yield leader, other
        rows = others[~close]


def _verified(
    source: RowSource, name: str, pairs: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Keep the pairs whose cosine, from the rows themselves in float64, exceeds 0.9999."""
    for start in range(0, len(pairs), _BATCH):
        batch = np.array(pairs[start : start + _BATCH], dtype=np.int64)
        rows, places = np.unique(batch, return_inverse=True)
        unit = _unit(chosen_numbers(source, name, rows.tolist()))
        first, second = unit[places.reshape(-1, 2)[:, 0]], unit[places.reshape(-1, 2)[:, 1]]
        near = np.einsum("ij,ij->i", first, second) > NEAR_COSINE
        yield from map(tuple, batch[near].tolist())


def _unit(numbers: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        unit: Floats = numbers / row_lengths(numbers)[:, None]
    return unit


class _Chains:
    """Rows joined into groups (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def _root(self, row: int) -> int:
        root = row
        while (above := self._parent.get(root, root)) != root:
            root = above
        while (above := self._parent.get(row, row)) != root:
            self._parent[row] = root
            row = above
        return root

    def join(self, one: int, other: int) -> None:
        """Put two rows into one group."""
        low, high = sorted((self._root(one), self._root(other)))
        self._parent[high] = low
        self._parent.setdefault(low, low)

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """All groups of two rows or more."""
        members: dict[int, list[int]] = {}
        for row in sorted(self._parent):
            members.setdefault(self._root(row), []).append(row)
        return tuple(tuple(rows) for rows in members.values() if len(rows) > 1)


@dataclass(frozen=True, slots=True)
class FoundCluster:
    """Rows within cosine 0.9 of one centre."""

    rows: NDArray[np.int64]
    nearest: int
    """The row nearest to the centre."""
    cosine: float
    """Median cosine to the centre."""


def clusters(source: RowSource, name: str, scan: RowScan) -> tuple[FoundCluster, ...]:
    """Find directions that at least 1% of the rows share.

    A sample of rows is compared pair by pair; only where enough of it huddle together are all
    rows read a second time and measured against the middle of the huddle.
    """
    found: list[FoundCluster] = []
    rows = len(scan.norms)
    least = max(MIN_CLUSTER_ROWS, int(rows * MIN_CLUSTER_SHARE))
    left = np.ones(len(scan.sample), dtype=np.bool_)
    taken = np.zeros(rows, dtype=np.bool_)
    while scan.signatures is not None and len(found) < _MAX_CLUSTERS:
        centre = _dense_centre(scan.sample, left)
        if centre is None:
            break
        cosines = cosines_to(source, name, scan, centre)
        near = (cosines > CLUSTER_COSINE) & ~taken
        taken |= near
        huddle = near[scan.sample.rows]
        if not (huddle & left).any():
            break
        left &= ~huddle
        if near.sum() >= least:
            found.append(
                FoundCluster(
                    np.flatnonzero(near),
                    int(np.argmax(np.where(near, cosines, -2.0))),
                    float(np.median(cosines[near])),
                )
            )
    return tuple(found)


def _dense_centre(sample: Sample, left: NDArray[np.bool_]) -> Floats | None:
    """The mean of the largest huddle in what is left of a sample of rows."""
    places = np.flatnonzero(left)
    if len(places) < _SAMPLE_HITS:
        return None
    step = max(1, sample.values.shape[1] // _GRAM_COLUMNS)
    part = sample.units(places, step).astype(np.float32)
    near = part @ part.T > CLUSTER_COSINE - 0.02
    counts = np.count_nonzero(near, axis=1)
    best = int(np.argmax(counts))
    if counts[best] < _SAMPLE_HITS:
        return None
    centre: Floats = sample.units(places[near[best]]).mean(axis=0)
    return centre


def cosines_to(source: RowSource, name: str, scan: RowScan, direction: Floats) -> Floats:
    """Cosine of every row to a direction `[width]`, in one more pass; NaN for ill rows."""
    dots = kernels_for(scan.dtype).dots(direction[None] / np.linalg.norm(direction))
    products = np.zeros(len(scan.norms))
    for block in source.blocks(name):
        products[block.start : block.start + len(block.values)] = dots(block.values)[:, 0]
    return cosines(products, scan.norms)


def cosines(products: Floats, norms: Floats) -> Floats:
    """Cosines from products with a unit vector and norms, both `[rows]`; NaN for ill rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(np.isfinite(norms), products / norms, np.nan)
    return result
