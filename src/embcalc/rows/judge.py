"""What a fast pass can say of how near rows are to a vector: bounds that surely hold.

SIMD kernels score the numbers as stored. Each score comes with what rounding may have done to it,
so that only rows whose bounds overlap have to be scored again in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from embcalc.core.dtypes import BY_NAME
from embcalc.rows.exact import exact_norms
from embcalc.rows.kernels import NumpyKernels, kernels_for
from embcalc.rows.select import aligned_rows
from embcalc.rows.widened import UNITS, WIDER, widened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embcalc.core.blocks import RowBlock
    from embcalc.core.dtypes import DType

    Floats = NDArray[np.float64]

KernelName = Literal["bf16", "f16", "f32", "f64"]
KERNELS: dict[str, KernelName] = {"BF16": "bf16", "F16": "f16", "F32": "f32", "F64": "f64"}
"""Dtypes that numkong scores as stored."""
SAFE_NORMS = (1e-12, 1e16)
"""Between these no square over- or underflows in float32, so a fast norm can be trusted."""
LARGEST_QUERY = 1e150
"""The square of a larger norm overflows, and with it every bound."""
FIRST_COLUMNS = 128
"""Columns whose norm tells whether a row is of a size that the cosine kernel can handle."""
DIRECTIONS = 2.0**-16
"""How far off the directions are that `Kernels.dots` keeps in two halves, relative to their norm;
BF16, the coarsest, is met to 2^-18."""
_CAUTION = 2
"""Bounds are this many times as wide as they have to be."""


class Metric(StrEnum):
    """How near two rows are."""

    COSINE = "cosine"
    EUCLIDEAN = "euclidean"
    DOT = "dot"


@dataclass(frozen=True, slots=True)
class Target:
    """What rows are compared with."""

    query: Floats
    """`[width]`, finite numbers."""
    metric: Metric
    mean: Floats | None = None
    """`[width]`, subtracted from each row first (not from the query)."""

    def scaled(self, factor: float) -> Target:
        """The same for rows that were multiplied by a factor."""
        mean = None if self.mean is None else self.mean * factor
        return Target(self.query * factor, self.metric, mean)


class Bounds(NamedTuple):
    """What is known of each row, `[n]` each; NaN where a fast pass cannot judge."""

    least: Floats
    """The least that its rank can be, larger being nearer: the cosine, the dot product, or minus
    the squared distance."""
    most: Floats
    """The most that it can be."""
    cosines: Floats
    """Its cosine with the query, about."""


class Judge:
    """Bounds for the rows of one dtype, block by block."""

    def __init__(self, target: Target, dtype: DType, *, exactly: bool = False) -> None:
        """Prepare for a target.

        Args:
            target: what rows are compared with.
            dtype: of the rows as stored.
            exactly: decode all rows to float64, where fast bounds are too wide to be of use.
        """
        held = BY_NAME[WIDER.get(dtype.name, dtype.name)]
        fast = held.name in KERNELS and not isinstance(kernels_for(held), NumpyKernels)
        fast &= target.query.size > 0
        self._dtype = dtype
        self._unit = UNITS.get(dtype.name) if fast and not exactly else None
        self._rank_unit = 1.0
        if self._unit is not None:
            target = target.scaled(self._unit)
            self._rank_unit = 1.0 if target.metric is Metric.COSINE else self._unit**2
        self._scores: _Angles | _Products
        if not fast or exactly:
            self._scores = _Products(target, dtype, None)
        elif target.metric is Metric.COSINE and target.mean is None:
            self._scores = _Angles.build(target.query, KERNELS[held.name])
        else:
            self._scores = _Products(target, held, KERNELS[held.name])

    def bounds(self, block: RowBlock) -> Bounds:
        """Judge the rows of a block.

        Raises:
            ValueError: there is no decoder for the dtype.
        """
        values, hidden = aligned_rows(block.values), None
        if self._unit is not None:
            values, hidden = widened(values, self._dtype)
        least, most, cosines = self._scores.bounds(values)
        if hidden is not None:
            least[hidden] = most[hidden] = cosines[hidden] = np.nan
        if self._rank_unit != 1:
            least, most = least / self._rank_unit, most / self._rank_unit
        return Bounds(least, most, cosines)


@dataclass(slots=True)
class _Angles:
    """Cosines by the one kernel that takes product and norms together: rows are read once."""

    name: KernelName
    query: NDArray[Any]
    """`[1, width]`, as the kernel wants it."""
    error: float
    """Bound on the error of a cosine."""
    usable: bool
    """Whether the query is of a size that bounds can be had of."""

    @classmethod
    def build(cls, query: Floats, name: KernelName) -> _Angles:
        """Round a query to what the kernel takes, at a norm of about 1."""
        size = norm(query)
        # Beyond 2^1000 its inverse would overflow; such a query stays far from 1, and harmless.
        query = query * ldexp(1.0, min(1000, max(-1000, -frexp(size)[1])))
        stored, given = _rounded(query, name)
        lost = norm(given - query) / (norm(query) or 1.0)
        error = _CAUTION * (lost + _summed(query.size, name))
        return cls(name, stored[None, :], error, size < LARGEST_QUERY)

    def bounds(self, values: NDArray[Any]) -> Bounds:
        import numkong

        angles = numkong.cdist(values, self.query, "angular", dtype=self.name)
        cosines: Floats = 1 - np.asarray(angles, np.float64)[:, 0]
        # The few columns are enough to know that the squares of a row did not all vanish.
        first = numkong.norm(values[:, :FIRST_COLUMNS], axis=1, dtype=self.name)
        sure = _within(np.asarray(first), *SAFE_NORMS)
        # Exactly 0 is also what the kernel says when a row's squares overflow.
        sure &= (cosines != 0) & self.usable
        cosines[~sure] = np.nan
        return Bounds(cosines - self.error, cosines + self.error, cosines)


class _Products:
    """Every metric from norms and dot products, centred or not; nothing is decoded for kernels.

    With m the mean, (x − m) · q = x · q − m · q and |x − m|² = |x|² − 2 x · m + |m|². The closer a
    row lies to the mean, the more of both is lost, and the wider are the bounds.
    """

    def __init__(self, target: Target, dtype: DType, name: KernelName | None) -> None:
        self._metric = target.metric
        self._name = name
        self._numbers = NumpyKernels(dtype)
        kernels = self._numbers if name is None else kernels_for(dtype)
        self._query_size = norm(target.query)
        self._mean_size, self._shift = 0.0, 0.0
        directions = [target.query]
        if target.mean is not None:
            directions.append(target.mean)
            self._mean_size = norm(target.mean)
            self._shift = float(target.mean @ target.query)
        self._dots = kernels.dots(np.stack(directions))
        width = target.query.size
        self._error = _CAUTION * (
            _summed(width, "f64") if name is None else _summed(width, name) + DIRECTIONS
        )
        sizes = (self._query_size < LARGEST_QUERY, self._mean_size < SAFE_NORMS[1])
        self._usable = all(sizes)

    def bounds(self, values: NDArray[Any]) -> Bounds:
        sizes = self._norms(values)
        dots = self._dots(values)
        products, squares = dots[:, 0] - self._shift, np.square(sizes)
        if self._mean_size:
            squares += self._mean_size * self._mean_size - 2 * dots[:, 1]
        low, high = SAFE_NORMS
        # Beside a mean, a row of numbers whose squares vanish is as good as zero.
        sure = _within(sizes, -1.0 if self._mean_size > low else low, high) & self._usable
        reach = np.maximum(sizes, low) + self._mean_size
        product_slack = self._error * self._query_size * reach
        square_slack = self._error * np.square(reach)
        with np.errstate(all="ignore"):
            cosines = products / (np.sqrt(squares) * self._query_size)
            least, most = self._ranks(products, product_slack, squares, square_slack)
        unsure = ~(sure & np.isfinite(least) & np.isfinite(most) & np.isfinite(cosines))
        least[unsure] = most[unsure] = cosines[unsure] = np.nan
        return Bounds(least, most, cosines)

    def _ranks(
        self, products: Floats, product_slack: Floats, squares: Floats, square_slack: Floats
    ) -> tuple[Floats, Floats]:
        least, most = products - product_slack, products + product_slack
        if self._metric is Metric.DOT:
            return least, most
        if self._metric is Metric.EUCLIDEAN:
            size = self._query_size * self._query_size
            slack = square_slack + self._error * size
            return 2 * least - squares - size - slack, 2 * most - squares - size + slack
        # NaN where the row may be zero.
        short = np.sqrt(squares - square_slack) * self._query_size
        long = np.sqrt(squares + square_slack) * self._query_size
        # A negative cosine is least for the shorter row.
        return least / np.where(least > 0, long, short), most / np.where(most > 0, short, long)

    def _norms(self, values: NDArray[Any]) -> Floats:
        if self._name is None:
            return self._numbers.norms(values)
        import numkong

        # A row times itself: unlike its norm, this lets other threads run meanwhile.
        squares = np.asarray(numkong.dot(values, values, self._name), np.float64)
        with np.errstate(invalid="ignore"):
            return np.sqrt(squares)


def norm(vector: Floats) -> float:
    """L2 norm, of numbers of any size."""
    return float(exact_norms(vector[None])[0][0])


def _within(sizes: NDArray[Any], low: float, high: float) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (sizes > low) & (sizes < high)
    return inside


def _summed(terms: int, name: KernelName) -> float:
    """Bound on the error of a sum: n terms in float32 are off by n · 2^-24 of their sizes."""
    return terms * (2.0**-50 if name == "f64" else 2.0**-23)


def _rounded(query: Floats, name: KernelName) -> tuple[NDArray[Any], Floats]:
    """The query as stored in a kernel's type, and the numbers that this holds."""
    if name == "bf16":
        import ml_dtypes

        stored = query.astype(ml_dtypes.bfloat16)
        return stored.view(np.uint16), stored.astype(np.float64)
    kind = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[name]
    held = query.astype(kind)
    return held, held.astype(np.float64)
