"""The rows nearest to a vector: one fast pass, exact answers.

A pass with SIMD kernels gives each row's score with a bound on its error. Rows that may still
belong to the best are scored again in float64, so the answer is that of brute force in float64,
and a table of any size is streamed once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from math import frexp
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from embcalc.rows.select import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embcalc.core.blocks import RowBlock
    from embcalc.core.dtypes import DType

    Floats = NDArray[np.float64]

KernelName = Literal["bf16", "f16", "f32", "f64"]
KERNELS: dict[str, KernelName] = {"BF16": "bf16", "F16": "f16", "F32": "f32", "F64": "f64"}
"""Dtypes that numkong reads as stored; all others are decoded to float32 first."""
SAFE_NORMS = (1e-12, 1e16)
"""Between these no square over- or underflows in float32, so a fast norm can be trusted."""
NEAR_MEAN = 1e-3
"""Rows this close to the mean, relative to its norm, lose too much to centring in float32."""


class Metric(StrEnum):
    """How near two rows are."""

    COSINE = "cosine"
    EUCLIDEAN = "euclidean"
    DOT = "dot"


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
    """Average cosine of the query with all other rows; NaN where none has one. Far from 0 means
    that the rows share a direction."""


def nearest(  # noqa: PLR0913 - the options of a search
    blocks: Iterable[RowBlock],
    query: NDArray[Any],
    *,
    metric: Metric = Metric.COSINE,
    top: int = 10,
    skip: NDArray[np.bool_] | None = None,
    mean: NDArray[Any] | None = None,
) -> Nearest:
    """Find the rows nearest to a vector.

    Args:
        blocks: all rows of a table.
        query: `[width]`, finite numbers.
        metric: what near means.
        top: how many rows to find.
        skip: `[rows]`, true for rows that may not be an answer.
        mean: `[width]`, subtracted from each row (not from the query) first.

    Raises:
        CheckpointError: the values cannot be had.
    """
    target = np.asarray(query, np.float64)
    search = _Search(target, metric, top, None if mean is None else np.asarray(mean, np.float64))
    with np.errstate(all="ignore"):
        for block in blocks:
            stop = block.start + len(block.values)
            search.take(block, None if skip is None else skip[block.start : stop])
    return search.result()


def mean_row(blocks: Iterable[RowBlock]) -> Floats:
    """Average the finite rows of a table in float64.

    Raises:
        CheckpointError: the values cannot be had.
        ValueError: there is no finite row.
    """
    total: Floats | None = None
    count = 0
    for block in blocks:
        values = numbers(block.values, block.dtype)
        finite = np.isfinite(values).all(axis=1)
        part = (values if finite.all() else values[finite]).sum(axis=0, dtype=np.float64)
        total = part if total is None else total + part
        count += int(finite.sum())
    if total is None or count == 0:
        raise ValueError("no finite row")
    return total / count


def exact_scores(values: Floats, query: Floats, metric: Metric) -> Floats:
    """Score rows in float64; NaN where there is no score.

    Args:
        values: `[rows, width]`.
        query: `[width]`.
        metric: what near means.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if metric is Metric.EUCLIDEAN:
            return _finite(np.sqrt(np.square(values - query).sum(axis=1)))
        dots = (values * query).sum(axis=1)
        if metric is Metric.DOT:
            return _finite(dots)
        norms = np.sqrt(np.square(values).sum(axis=1))
        return _finite(dots / (norms * np.sqrt(np.square(query).sum())))


def _finite(scores: Floats) -> Floats:
    return np.where(np.isfinite(scores), scores, np.nan)


@dataclass(slots=True)
class _Kernel:
    """numkong on the rows as stored, or on float32 where it cannot read them so."""

    dtype: KernelName | None
    """numkong's name of the stored type; None decodes first."""
    query: NDArray[Any]
    """`[1, width]`, as the kernel wants it."""
    error: float
    """Bound on the error of a dot product, relative to the product of both norms."""

    @classmethod
    def build(cls, query: Floats, dtype: DType, *, decode: bool) -> _Kernel:
        """Round a query, whose norm is about 1, to what the kernel takes."""
        name = None if decode else KERNELS.get(dtype.name)
        rounded, given = _rounded(query, name or "f32")
        lost = float(np.sqrt(np.square(given - query).sum()) / np.sqrt(np.square(query).sum()))
        # A float32 sum of n terms is off by at most n · 2^-24 of the sum of their sizes.
        summed = query.size * (2.0**-50 if name == "f64" else 2.0**-23)
        # Rows that were decoded are rounded to float32, and centring magnifies that.
        held = 0.0 if name else 2.0**-23 / NEAR_MEAN
        return cls(name, rounded[None, :], lost + summed + held)

    def products(self, values: NDArray[Any]) -> tuple[Floats, Floats]:
        """Dot product with the query, and norm, of each row."""
        import numkong

        name = self.dtype or "f32"
        dots = numkong.cdist(values, self.query, "dot", dtype=name)
        norms = numkong.norm(values, axis=1, dtype=name)
        return np.asarray(dots)[:, 0], np.asarray(norms)


def _rounded(query: Floats, name: KernelName) -> tuple[NDArray[Any], Floats]:
    """The query as stored in a kernel's type, and the numbers that this holds."""
    if name == "bf16":
        import ml_dtypes

        stored = query.astype(ml_dtypes.bfloat16)
        return stored.view(np.uint16), stored.astype(np.float64)
    kind = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[name]
    held = query.astype(kind)
    return held, held.astype(np.float64)


@dataclass(slots=True)
class _Search:
    """The best rows so far."""

    query: Floats
    metric: Metric
    top: int
    mean: Floats | None
    kernel: _Kernel | None = None
    unit: Floats = field(init=False)
    """The query, scaled by a power of two to a norm between 1/2 and 1."""
    scale: float = field(init=False)
    least_norm: float = field(init=False)
    norm: float = field(init=False)
    """Of the scaled query."""
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    ranks: Floats = field(default_factory=lambda: np.zeros(0))
    """Scores of `rows` with the sign turned so that larger is nearer."""
    undefined: int = 0
    cosines: float = 0.0
    counted: int = 0

    def __post_init__(self) -> None:
        size = float(np.sqrt(np.square(self.query).sum()))
        self.scale = 2.0 ** frexp(size)[1] if size else 1.0
        self.unit = self.query / self.scale
        self.norm = float(np.sqrt(np.square(self.unit).sum()))
        shared = 0.0 if self.mean is None else float(np.sqrt(np.square(self.mean).sum()))
        self.least_norm = max(SAFE_NORMS[0], NEAR_MEAN * shared)

    def take(self, block: RowBlock, skip: NDArray[np.bool_] | None) -> None:
        """Look at one block."""
        if self.kernel is None:
            decode = self.mean is not None or block.dtype.name not in KERNELS
            self.kernel = _Kernel.build(self.unit, block.dtype, decode=decode)
        dots, norms = self.kernel.products(self._prepared(block))
        cosines = dots / (norms * self.norm)
        sure = (norms > self.least_norm) & (norms < SAFE_NORMS[1])
        chosen = self._hopes(dots, norms, cosines) >= self._bar()
        if sure.all():
            self.cosines += float(cosines.sum())
            self.counted += len(cosines)
        else:
            self.cosines += float(cosines[sure].sum())
            self.counted += int(sure.sum())
            chosen |= ~sure
        if chosen.any():
            self._rank(block, np.flatnonzero(chosen), skip)

    def _prepared(self, block: RowBlock) -> NDArray[Any]:
        if self.kernel is not None and self.kernel.dtype is not None:
            return block.values
        values = numbers(block.values, block.dtype)
        if self.mean is not None:
            values = values - self.mean
        return np.ascontiguousarray(values, np.float32)

    def _hopes(self, dots: Floats, norms: Floats, cosines: Floats) -> Floats:
        """The best that each row's score can be, comparable with the bar."""
        error = 2 * self.kernel.error if self.kernel else 0.0
        if self.metric is Metric.COSINE:
            return cosines + error
        size = self.norm * self.scale
        if self.metric is Metric.DOT:
            return dots * self.scale + error * size * norms
        slack = error * np.square(norms + size)
        return 2 * self.scale * dots - np.square(norms) - size * size + slack

    def _bar(self) -> float:
        """What a row must reach to be among the best so far."""
        if len(self.ranks) < self.top:
            return -np.inf
        worst = float(self.ranks[-1])
        return -(worst * worst) if self.metric is Metric.EUCLIDEAN else worst

    def _rank(
        self, block: RowBlock, picked: NDArray[np.int64], skip: NDArray[np.bool_] | None
    ) -> None:
        """Score rows in float64 and keep the best."""
        if skip is not None:
            picked = picked[~skip[picked]]
        values = numbers(block.values[picked], block.dtype).astype(np.float64)
        if self.mean is not None:
            values -= self.mean
        scores = exact_scores(values, self.query, self.metric)
        known = ~np.isnan(scores)
        self.undefined += int((~known).sum())
        ranks = -scores[known] if self.metric is Metric.EUCLIDEAN else scores[known]
        rows = np.concatenate([self.rows, picked[known] + block.start])
        ranks = np.concatenate([self.ranks, ranks])
        order = np.lexsort((rows, -ranks))[: self.top]
        self.rows, self.ranks = rows[order], ranks[order]

    def result(self) -> Nearest:
        """Say what was found."""
        sign = -1.0 if self.metric is Metric.EUCLIDEAN else 1.0
        average = self.cosines / self.counted if self.counted else float("nan")
        return Nearest(self.rows, sign * self.ranks, self.undefined, average)
