"""The rows nearest to a vector: one fast pass, exact answers.

A pass with SIMD kernels gives each row's score with a bound on its error. Rows that may still
belong to the best are scored again in float64, so the answer is that of brute force in float64,
and a table of any size is streamed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embcalc.rows.exact import exact_norms, scaled_rows
from embcalc.rows.judge import Bounds, Judge, Metric, Target, norm
from embcalc.rows.parallel import RowPass, in_threads
from embcalc.rows.select import RowReader, select_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embcalc.core.dtypes import DType

    Floats = NDArray[np.float64]

RANKED_AT_ONCE = 1024
"""Rows that are scored in float64 together: bounded memory whatever their number."""
MANY = 4096
"""Rows whose bounds may overlap with those of the best before all are judged again, exactly."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The best rows, and what else the pass saw."""

    rows: NDArray[np.int64]
    """Best first; of equal scores the lower row number first."""
    scores: Floats
    """Cosine or dot product, larger is nearer; or Euclidean distance, smaller is nearer."""
    undefined: int
    """Rows without a score: not finite, or zero under cosine."""
    mean_cosine: float
    """Average cosine of the query with the rows that may be an answer; NaN where none has one. Far
    from 0 means that the rows share a direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What to look for."""

    query: Floats
    """`[width]`, finite numbers."""
    metric: Metric = Metric.COSINE
    top: int = 10
    skip: NDArray[np.bool_] | None = None
    """`[rows]`, true for rows that may not be an answer."""
    mean: Floats | None = None
    """`[width]`, subtracted from each row first (not from the query)."""


def nearest(rows: RowPass, read: RowReader, search: Search) -> Nearest:
    """Find the rows nearest to a vector.

    Args:
        rows: all rows of the table.
        read: reads single rows again, for exact scores.
        search: what to look for.

    Raises:
        CheckpointError: the values cannot be had.
        SourceError: the file cannot be read.
    """
    judged = _judge(rows, search, exactly=False)
    candidates = _candidates(judged, search)
    if len(candidates) - np.count_nonzero(np.isnan(judged.most[candidates])) > MANY:
        judged = _judge(rows, search, exactly=True)
        candidates = _candidates(judged, search)
    best = _Best(search)
    with np.errstate(all="ignore"):
        for start in range(0, len(candidates), RANKED_AT_ONCE):
            best.take(candidates[start : start + RANKED_AT_ONCE], read)
    return Nearest(best.rows, best.scores, best.undefined, _average(judged.cosines, search))


def _average(cosines: Floats, search: Search) -> float:
    known = ~np.isnan(cosines)
    if search.skip is not None:
        known &= ~search.skip
    return float(cosines[known].mean()) if known.any() else float("nan")


def exact_scores(values: Floats, query: Floats, metric: Metric) -> Floats:
    """Score rows in float64; NaN where there is no score.

    Args:
        values: `[rows, width]`.
        query: `[width]`.
        metric: what near means.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if metric is Metric.EUCLIDEAN:
            return _finite(exact_norms(values - query)[0])
        if metric is Metric.DOT:
            return _finite((values * query).sum(axis=1))
        # Scaled, so that no square overflows or vanishes.
        values, query = scaled_rows(values)[0], scaled_rows(query[None])[0][0]
        norms = np.sqrt(np.square(values).sum(axis=1))
        return _finite((values * query).sum(axis=1) / (norms * norm(query)))


def _finite(scores: Floats) -> Floats:
    return np.where(np.isfinite(scores), scores, np.nan)


def _judge(rows: RowPass, search: Search, *, exactly: bool) -> Bounds:
    """Pass over all rows once."""
    target = Target(search.query, search.metric, search.mean)

    def share(part: range) -> list[Bounds]:
        judges: dict[DType, Judge] = {}
        found: list[Bounds] = []
        for block in rows.stream(part):
            if block.dtype not in judges:
                judges[block.dtype] = Judge(target, block.dtype, exactly=exactly)
            found.append(judges[block.dtype].bounds(block))
        return found

    parts = [part for found in in_threads(share, rows.shares, rows.workers) for part in found]
    none = np.zeros(0)
    columns = zip(Bounds(none, none, none), *parts, strict=True)
    return Bounds(*(np.concatenate(column) for column in columns))


def _candidates(judged: Bounds, search: Search) -> NDArray[np.int64]:
    """Rows that may be among the best, and rows that the fast pass cannot judge."""
    unsure = np.isnan(judged.most)
    wanted = ~unsure if search.skip is None else ~(unsure | search.skip)
    least = judged.least[wanted]
    bar = -np.inf
    if len(least) > search.top:
        bar = np.partition(least, len(least) - search.top)[len(least) - search.top]
    with np.errstate(invalid="ignore"):
        chosen = (judged.most >= bar) | unsure
    if search.skip is not None:
        chosen &= ~search.skip
    return np.flatnonzero(chosen)


class _Best:
    """The best rows so far, scored in float64."""

    def __init__(self, search: Search) -> None:
        self.rows = np.zeros(0, np.int64)
        self.scores = np.zeros(0)
        self.undefined = 0
        self._search = search

    def take(self, rows: NDArray[np.int64], read: RowReader) -> None:
        """Score some rows and keep the best of all."""
        search = self._search
        values = select_rows(read, rows.tolist(), 8 * search.query.size).astype(np.float64)
        if search.mean is not None:
            values -= search.mean
        scores = exact_scores(values, search.query, search.metric)
        known = ~np.isnan(scores)
        self.undefined += int((~known).sum())
        rows = np.concatenate([self.rows, rows[known]])
        scores = np.concatenate([self.scores, scores[known]])
        ranks = scores if search.metric is Metric.EUCLIDEAN else -scores
        order = np.lexsort((rows, ranks))[: search.top]
        self.rows, self.scores = rows[order], scores[order]
