"""Distribution of row norms."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

import numpy as np

from embcalc.core.reports.inspect import PERCENTILES, Histogram, NormStatistics
from embcalc.rows.kernels import Floats

DEFAULT_BINS = 20
_FRESH_ROWS = 100
_FRESH_WIDTH = 16


def ascending(numbers: Floats) -> Floats:
    """The same numbers `[n]` in ascending order; sorted only where they are not yet."""
    return numbers if (numbers[1:] >= numbers[:-1]).all() else np.sort(numbers)


def quantiles(ordered: Floats, percents: Sequence[float]) -> Floats:
    """Percentiles of ascending numbers `[n]`, linear between neighbours as numpy's."""
    places = np.asarray(percents) / 100 * (len(ordered) - 1)
    below = np.floor(places).astype(np.int64)
    part = places - below
    low, high = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)]
    # From the nearer end, as numpy does, so that both ends are met exactly.
    return np.where(part >= 0.5, high - (high - low) * (1 - part), low + (high - low) * part)


def norm_statistics(norms: Floats) -> NormStatistics | None:
    """Summarise finite norms `[n]`; None for no norms."""
    if len(norms) == 0:
        return None
    ordered = ascending(norms)
    # Scaled, so that squares of norms near the ends of float64 neither overflow nor vanish.
    scale = float(ordered[-1]) or 1.0
    scaled = ordered / scale
    percentiles = quantiles(ordered, PERCENTILES)
    return NormStatistics(
        min=float(ordered[0]),
        max=float(ordered[-1]),
        mean=float(scaled.mean()) * scale,
        std=float(scaled.std()) * scale,
        percentiles=dict(zip(PERCENTILES, map(float, percentiles), strict=True)),
    )


def histogram(norms: Floats, bins: int | None = None) -> Histogram | None:
    """Count finite norms `[n]` in bins; None for no norms.

    Without `bins`, about 20 of a round width cover the bulk of the rows; the first and the last
    reach out to the smallest and the largest norm, so that every row is counted and one far row
    does not flatten the picture.
    """
    if len(norms) == 0:
        return None
    ordered = ascending(norms)
    least, most = float(ordered[0]), float(ordered[-1])
    if least == most:
        # One value: a bin around it of a tenth of its size.
        half = abs(least) / 20 or 0.5
        edges = np.linspace(max(0.0, least - half), least + half, (bins or 1) + 1)
    else:
        low, high = _bulk(ordered, least, most)
        edges = np.linspace(low, high, bins + 1) if bins else _round_edges(low, high)
        edges = _reach_out(edges, least, most)
    starts = np.searchsorted(ordered, edges[:-1])
    counts = np.diff(starts, append=len(ordered))
    return Histogram(tuple(map(float, edges)), tuple(map(int, counts)))


def _bulk(ordered: Floats, least: float, most: float) -> tuple[float, float]:
    """The range that the picture is drawn over: all rows, unless a few lie far from the rest."""
    low, high = (float(value) for value in quantiles(ordered, (0.5, 99.5)))
    margin = (high - low) or abs(high) / 10 or most
    return max(least, low - margin, 0.0), min(most, high + margin)


def _round_edges(low: float, high: float) -> Floats:
    step = _round_step((high - low) / DEFAULT_BINS)
    first, last = floor(low / step), ceil(high / step)
    edges: Floats = np.arange(first, max(last, first + 1) + 1) * np.float64(step)
    return edges


def _round_step(width: float) -> float:
    """The first of 1, 2, 2.5, 5, 10 times a power of ten that is not below `width`."""
    power = 10.0 ** floor(log10(width))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= width * 0.999)


def _reach_out(edges: Floats, least: float, most: float) -> Floats:
    edges = np.array(edges)
    edges[0] = min(edges[0], least)
    edges[-1] = max(edges[-1], most)
    return edges


def looks_fresh(norms: Floats, sigma: float, width: int) -> bool:
    """Whether finite norms are distributed as those of rows of N(0, σ²).

    Such norms have mean σ√d (to 1/4d) and standard deviation σ/√2: training spreads them.
    """
    if len(norms) < _FRESH_ROWS or width < _FRESH_WIDTH:
        return False
    low, median, high = (float(value) for value in quantiles(ascending(norms), (16, 50, 84)))
    middle = median / (sigma * width**0.5)
    spread = (high - low) / 2 / (sigma / 2**0.5)
    return abs(middle - 1) < 0.02 and 0.8 < spread < 1.2
