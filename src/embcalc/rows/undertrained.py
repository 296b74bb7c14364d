"""Rows that training seems to have passed by.

After Land and Bartolo, "Fishing for Magikarp" (2024), restated: tied tables by cosine distance to
the mean of rows known to be untrained, untied ones by the norm of the input row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embcalc.rows.access import RowSource, chosen_numbers
from embcalc.rows.kernels import Floats
from embcalc.rows.neighbourhoods import cosines
from embcalc.rows.references import References

MIN_REFERENCES = 8
"""Fewer references give no direction worth trusting."""
LOWEST_SHARE = 0.02
"""Part of the ordinary tokens that are candidates."""
_MOST_SUSPECTS = 0.25
"""An indicator that suspects more of the ordinary tokens than this tells nothing."""
_MOST_REFERENCES = 1024
"""References that the direction is taken from, evenly spread over all of them."""


def reference_direction(source: RowSource, name: str, references: References) -> Floats | None:
    """u, the mean of the reference rows, `[width]`; None where they are too few or cancel out."""
    rows = references.rows
    if len(rows) < MIN_REFERENCES:
        return None
    step = max(1, len(rows) // _MOST_REFERENCES)
    return mean_direction(chosen_numbers(source, name, rows[::step].tolist()))


def mean_direction(numbers: Floats) -> Floats | None:
    """The unit vector along the mean of finite rows `[n, width]`; None for a mean of 0."""
    finite = numbers[np.isfinite(numbers).all(axis=1)]
    if len(finite) == 0:
        return None
    # Scaled first: rows near 1e-30 or 1e300 have a direction too.
    mean = (finite / (np.abs(finite).max() or 1.0)).mean(axis=0)
    length = float(np.linalg.norm(mean))
    if length == 0 or not np.isfinite(length):
        return None
    direction: Floats = mean / length
    return direction


def distances(products: Floats, norms: Floats) -> Floats:
    """Cosine distance 1 - cos to a unit vector; 0 for a zero row, which no training moved."""
    distance: Floats = 1.0 - cosines(products, norms)
    distance[norms == 0] = 0.0
    return distance


def separation(low: Floats, high: Floats) -> float:
    """AUC: the probability that one of `low` lies below one of `high`, ties counted half."""
    if len(low) == 0 or len(high) == 0:
        return 0.5
    ordered = np.sort(high)
    above = len(ordered) - np.searchsorted(ordered, low, side="right")
    equal = np.searchsorted(ordered, low, side="right") - np.searchsorted(ordered, low, side="left")
    return float((above + equal / 2).sum() / (len(low) * len(high)))


def confidence(ranking: Ranking, references: int) -> str:
    """How far the indicator can be trusted: by how well it tells the references from the rest.

    Measured against the upper half of the ordinary tokens: dead tokens among the lower half are
    what is looked for, and no fault of the indicator.
    """
    if ranking.suspects > _MOST_SUSPECTS * len(ranking.ordinary):
        return "low"
    if ranking.auc >= 0.99 and references >= 3 * MIN_REFERENCES:
        return "high"
    return "medium" if ranking.auc >= 0.95 and references >= MIN_REFERENCES else "low"


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scores of all rows by one indicator, and who is lowest among the ordinary tokens."""

    scores: Floats
    """`[rows]`, NaN for rows without one."""
    ordinary: NDArray[np.int64]
    """Ordinary rows, lowest score first."""
    threshold: float | None
    """Score of the last of the lowest 2%."""
    suspects: int
    """Ordinary rows at or below the 95th percentile of the references' scores."""
    auc: float
    """Of the references against the upper half of the ordinary rows."""

    @property
    def lowest(self) -> NDArray[np.int64]:
        """The lowest 2% of the ordinary rows, at least one."""
        return self.ordinary[: max(1, round(LOWEST_SHARE * len(self.ordinary)))]


def rank(scores: Floats, ordinary: NDArray[np.bool_], references: NDArray[np.int64]) -> Ranking:
    """Rank ordinary rows by score, and measure how well references lie below them.

    Args:
        scores: `[rows]`; NaN is left out.
        ordinary: mask `[rows]` of rows with an ordinary token.
        references: rows known to be untrained.
    """
    rows = np.flatnonzero(ordinary & np.isfinite(scores))
    ordered = rows[np.argsort(scores[rows], kind="stable")]
    known = scores[references]
    known = known[np.isfinite(known)]
    upper = scores[ordered[len(ordered) // 2 :]]
    ranking = Ranking(scores, ordered, None, 0, separation(known, upper))
    lowest = ranking.lowest
    limit = float(np.percentile(known, 95)) if len(known) else -np.inf
    return Ranking(
        scores,
        ordered,
        float(scores[lowest[-1]]) if len(lowest) else None,
        int(np.searchsorted(scores[ordered], limit, side="right")),
        ranking.auc,
    )
