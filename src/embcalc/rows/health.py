"""Which rows are ill, by rules that can be said in one sentence each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embcalc.core.reports.inspect import LISTED, RowGroups, RowSet
from embcalc.rows.kernels import Floats

Mask = NDArray[np.bool_]

NEAR_ZERO = 1e-3
"""A row is near zero when its norm is at most this part of the median norm."""
OUTLIER_Z = 8.0
"""A row is an outlier when its log norm lies this many robust deviations from the median."""
_LEAST_DEVIATION = 0.01
"""A robust deviation of log norms is never taken below this: rows scaled to one length differ by
rounding alone."""
NEAR_ZERO_RULE = "norm above 0 and at most 1/1000 of the median norm"
OUTLIER_RULE = "log norm over 8 robust deviations from the median"
"""A robust deviation is 1.4826 times the median absolute deviation: σ, for a normal
distribution."""


@dataclass(frozen=True, slots=True)
class Health:
    """Masks over the rows of a table, `[rows]`."""

    zero: Mask
    near_zero: Mask
    nonfinite: Mask
    outlier: Mask

    @property
    def ill(self) -> Mask:
        """Zero, near zero or not finite."""
        return self.zero | self.near_zero | self.nonfinite


def judge(norms: Floats, nonfinite: Mask) -> Health:
    """Apply the rules to the norms of all rows."""
    zero = (norms == 0) & ~nonfinite
    alive = norms[np.isfinite(norms) & ~zero]
    none = np.zeros(len(norms), dtype=np.bool_)
    if len(alive) == 0:
        return Health(zero, none, nonfinite, none)
    median = _median(alive)
    near = ~zero & ~nonfinite & (norms <= NEAR_ZERO * median)
    return Health(zero, near, nonfinite, _outliers(norms, zero | near | ~np.isfinite(norms)))


def _outliers(norms: Floats, left_out: Mask) -> Mask:
    found = np.zeros(len(norms), dtype=np.bool_)
    rows = np.flatnonzero(~left_out)
    if len(rows) == 0:
        return found
    logs = np.log(norms[rows])
    away = np.abs(logs - _median(logs))
    deviation = max(1.4826 * _median(away), _LEAST_DEVIATION)
    found[rows[away > OUTLIER_Z * deviation]] = True
    return found


def _median(numbers: Floats) -> float:
    """Of finite numbers `[n]`, at least one; numpy's looks for NaN too."""
    low, high = (len(numbers) - 1) // 2, len(numbers) // 2
    parted = np.partition(numbers, (low, high))
    return (float(parted[low]) + float(parted[high])) / 2


def row_set(mask: Mask) -> RowSet:
    """Count and list the rows of a mask."""
    rows = np.flatnonzero(mask)
    return RowSet(len(rows), tuple(map(int, rows[:LISTED])))


def row_groups(groups: tuple[tuple[int, ...], ...]) -> RowGroups:
    """Count and list groups; the lists are cut at `LISTED` rows in all."""
    listed: list[tuple[int, ...]] = []
    left = LISTED
    for group in groups:
        if left < 2:
            break
        listed.append(group[:left])
        left -= len(listed[-1])
    return RowGroups(sum(len(group) - 1 for group in groups), tuple(listed))
