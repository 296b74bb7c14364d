"""Directions that many rows share: collapsed clusters, without all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embcalc.rows.access import RowSource
from embcalc.rows.kernels import Floats, kernels_for
from embcalc.rows.sample import Sample
from embcalc.rows.scan import RowScan

CLUSTER_COSINE = 0.9
MIN_CLUSTER_SHARE = 0.01
"""Part of the rows that a cluster holds at least."""
MIN_CLUSTER_ROWS = 8
_MAX_CLUSTERS = 4
_GRAM_COLUMNS = 1024
_SAMPLE_HITS = 4
"""Rows of the sample that make a cluster worth a second pass."""


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
