"""Rows of nearly the same direction, without comparing all pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from embcalc.rows.access import RowSource, row_products, unit_rows
from embcalc.rows.crowds import close_pairs
from embcalc.rows.fingerprints import alike
from embcalc.rows.scan import RowScan
from embcalc.rows.signatures import COORDINATES, Signatures

NEAR_COSINE = 0.9999
_LIKELY = 0.06
"""Estimated distance of unit rows below which they are compared; cosine 0.9999 is 0.014."""
_CROWD = 256
"""Rows of one signature beyond which fewer pairs are compared."""
_CLOSE = 0.025
"""The same distance in a crowd, where more pairs lie close by chance."""
_MOST_PAIRS = 1 << 18
"""Pairs of one table that are compared at most; a collapsed table has more."""
_BATCH_BYTES = 16 << 20
_BLIND = 0.25
"""Mean square of the coordinates, about 1 by design, below which they miss most of the rows."""

Pairs = set[tuple[int, int]]
Coordinates = NDArray[np.float32]


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
    rows = np.flatnonzero(~left_out)
    coordinates = scan.signatures.coordinates
    pairs: Pairs = set()
    if _blind(coordinates[rows]):
        crowds = [rows]
        coordinates = _all_columns(source, name, scan)
    else:
        crowds = _crowds(scan.signatures, rows, pairs)
    for crowd in crowds:
        _add_close(coordinates, crowd, _CLOSE, pairs)
    chains = _Chains()
    for one, other in _verified(source, name, sorted(pairs)):
        chains.join(one, other)
    return chains.groups()


def _crowds(
    signatures: Signatures, rows: NDArray[np.int64], pairs: Pairs
) -> list[NDArray[np.int64]]:
    """Look through the sets of rows that share a signature.

    Small ones add to `pairs` what lies close in them. Large ones are given back: all rows as one,
    where the signatures tell little because most rows point one way.
    """
    bands = [alike(band) for band in signatures.bands[rows].T]
    if sum(len(places) for places, _ in bands) > len(rows):
        return [rows]
    crowds: list[NDArray[np.int64]] = []
    for places, starts in bands:
        crowds += _sets(signatures.coordinates, rows[places], starts, pairs)
    return crowds


def _blind(coordinates: Coordinates) -> bool:
    """Whether the columns that signatures are made of hold little of the rows' lengths."""
    return len(coordinates) > 0 and float(np.square(coordinates).mean()) < _BLIND


def _all_columns(source: RowSource, name: str, scan: RowScan) -> Coordinates:
    """Coordinates `[rows, 24]` as those of signatures, from one more pass over whole rows."""
    random = np.random.default_rng(0x5EED)
    directions = random.standard_normal((COORDINATES, source.tensors[name].width))
    coordinates = np.zeros((len(scan.norms), len(directions)), dtype=np.float32)
    lengths = np.where((scan.norms > 0) & np.isfinite(scan.norms), scan.norms, np.inf)
    for here, products in row_products(source, name, scan.dtype, directions):
        with np.errstate(over="ignore", invalid="ignore"):
            unit = products / lengths[here, None]
        coordinates[here] = np.where(np.isfinite(unit), unit, 0)
    return coordinates


def _sets(
    coordinates: Coordinates, rows: NDArray[np.int64], starts: NDArray[np.int64], pairs: Pairs
) -> Iterator[NDArray[np.int64]]:
    """Compare small sets of rows of one signature by their coordinates, and give the large ones.

    Args:
        coordinates: of all rows.
        rows: sets of rows, side by side.
        starts: where in `rows` each set begins.
        pairs: receives those that lie close.
    """
    sizes = np.diff(starts, append=len(rows))
    twos = starts[sizes == 2]
    first, second = rows[twos], rows[twos + 1]
    close = np.square(coordinates[first] - coordinates[second]).mean(axis=1) < _LIKELY**2
    _add(pairs, np.minimum(first, second)[close], np.maximum(first, second)[close])
    for start, size in zip(starts[sizes > 2].tolist(), sizes[sizes > 2].tolist(), strict=True):
        some = rows[start : start + size]
        if size > _CROWD:
            yield some
        else:
            _add_close(coordinates, some, _LIKELY, pairs)


def _add_close(
    coordinates: Coordinates, rows: NDArray[np.int64], reach: float, pairs: Pairs
) -> None:
    for found in close_pairs(coordinates, rows, reach):
        if len(pairs) < _MOST_PAIRS:
            _add(pairs, *found)


def _add(pairs: Pairs, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
    pairs.update(zip(first.tolist(), second.tolist(), strict=True))


def _verified(
    source: RowSource, name: str, pairs: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Keep the pairs whose cosine, from the rows themselves in float64, exceeds 0.9999."""
    step = max(1, _BATCH_BYTES // (16 * max(1, source.tensors[name].width)))
    for start in range(0, len(pairs), step):
        batch = np.array(pairs[start : start + step], dtype=np.int64)
        rows, places = np.unique(batch, return_inverse=True)
        unit = unit_rows(source, name, rows.tolist())
        first, second = unit[places.reshape(-1, 2)[:, 0]], unit[places.reshape(-1, 2)[:, 1]]
        near = np.einsum("ij,ij->i", first, second) > NEAR_COSINE
        yield from map(tuple, batch[near].tolist())


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
