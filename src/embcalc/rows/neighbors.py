"""The rows nearest to a vector: one fast pass, exact answers.

A pass with SIMD kernels gives each row's score with a bound on its error. Rows that may still
belong to the best are scored again in float64, so the answer is that of brute force in float64,
and a table of any size is streamed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from embcalc.rows.exact import exact_norms, scaled_rows
from embcalc.rows.parallel import in_threads
from embcalc.rows.select import RowReader, aligned_rows, numbers, select_rows, small_blocks

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
LARGEST_QUERY = 1e150
"""The square of a larger norm overflows, and with it every bound."""
FIRST_COLUMNS = 128
"""Columns whose norm tells whether a row is of a size that the cosine kernel can handle."""
RANKED_AT_ONCE = 1024
"""Rows that are scored in float64 together: bounded memory whatever their number."""
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

    @property
    def size(self) -> float:
        """Norm of the query."""
        return _norm(self.query)


def _norm(vector: Floats) -> float:
    return float(exact_norms(vector[None])[0][0])


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPass:
    """How to read all rows of a table once."""

    stream: RowReader
    """Streams the rows of a share."""
    shares: Sequence[range]
    """All rows, in order."""
    workers: int = 1
    """Threads that read a share each."""


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
    fast = _scan(rows, search)
    with np.errstate(all="ignore"):
        candidates = _candidates(fast, search)
        best = _Best(search)
        for start in range(0, len(candidates), RANKED_AT_ONCE):
            best.take(candidates[start : start + RANKED_AT_ONCE], read)
        cosines = fast.cosines(search)[fast.wanted(search)]
    average = float(cosines.mean()) if len(cosines) else float("nan")
    return Nearest(best.rows, best.scores, best.undefined, average)


def mean_row(rows: RowPass) -> Floats:
    """Average the finite rows of a table in float64.

    Raises:
        CheckpointError: the values cannot be had.
        ValueError: there is no finite row.
    """
    parts = in_threads(lambda share: _row_sum(rows.stream(share)), rows.shares, rows.workers)
    count = sum(counted for _, counted in parts)
    if count == 0:
        raise ValueError("no finite row")
    totals = [total for total, counted in parts if counted]
    return np.asarray(np.sum(totals, axis=0) / count, np.float64)


def _row_sum(blocks: Iterable[RowBlock]) -> tuple[Floats, int]:
    """Sum and count of the finite rows."""
    total: Floats = np.zeros(())
    count = 0
    for block in small_blocks(blocks):
        values = numbers(block.values, block.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            part = values.sum(axis=0, dtype=np.float64)
        if not np.isfinite(part).all():
            # One number that is not finite spoils the sum of its column.
            values = values[np.isfinite(values).all(axis=1)]
            part = values.sum(axis=0, dtype=np.float64)
        total = total + part
        count += len(values)
    return total, count


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
        return _finite((values * query).sum(axis=1) / (norms * _norm(query)))


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
        size = _norm(query)
        lost = _norm(given - query) / size if size else 0.0
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

    def cosines(self, values: NDArray[Any]) -> tuple[Floats, Floats]:
        """Cosine with the query, and norm of the first columns, of each row.

        One kernel does both sums, so that the rows are read once. The few columns are enough to
        know that the squares of a row did not all vanish.
        """
        import numkong

        name = self.dtype or "f32"
        angles = numkong.cdist(values, self.query, "angular", dtype=name)
        norms = numkong.norm(values[:, :FIRST_COLUMNS], axis=1, dtype=name)
        return 1 - np.asarray(angles)[:, 0], np.asarray(norms)


def _rounded(query: Floats, name: KernelName) -> tuple[NDArray[Any], Floats]:
    """The query as stored in a kernel's type, and the numbers that this holds."""
    if name == "bf16":
        import ml_dtypes

        stored = query.astype(ml_dtypes.bfloat16)
        return stored.view(np.uint16), stored.astype(np.float64)
    kind = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[name]
    held = query.astype(kind)
    return held, held.astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Fast:
    """What the fast pass knows of each row."""

    products: Floats
    """Cosines for `Metric.COSINE`; else dot products with the query, scaled to a size near 1."""
    norms: Floats
    """Of whole rows; for `Metric.COSINE`, of their first columns."""
    scale: float
    error: float
    """Bound on the error of a product, relative to the product of both norms."""

    def trusted(self, search: Search) -> NDArray[np.bool_]:
        """Rows of a size that the kernels can handle."""
        shared = 0.0 if search.mean is None else float(np.sqrt(np.square(search.mean).sum()))
        low = max(SAFE_NORMS[0], NEAR_MEAN * shared)
        sure: NDArray[np.bool_] = (self.norms > low) & (self.norms < SAFE_NORMS[1])
        sure &= search.size < LARGEST_QUERY
        if search.metric is Metric.COSINE:
            # Exactly 0 is also what the kernel says when a row's squares overflow.
            sure &= np.isfinite(self.products) & (self.products != 0)
        return sure

    def wanted(self, search: Search) -> NDArray[np.bool_]:
        """Trusted rows that may be an answer."""
        sure = self.trusted(search)
        return sure if search.skip is None else sure & ~search.skip

    def cosines(self, search: Search) -> Floats:
        """Cosine of each row with the query."""
        if search.metric is Metric.COSINE:
            return self.products
        return self.products / (self.norms * (search.size * self.scale))

    def bounds(self, search: Search) -> tuple[Floats, Floats]:
        """The least and the most that each row's rank can be, larger being nearer."""
        size, error = search.size, 2 * self.error
        if search.metric is Metric.COSINE:
            return self.products - error, self.products + error
        dots = self.products / self.scale
        if search.metric is Metric.DOT:
            slack = error * size * self.norms
            return dots - slack, dots + slack
        # Minus the squared distance.
        slack = error * np.square(self.norms + size)
        ranks = 2 * dots - np.square(self.norms) - size * size
        return ranks - slack, ranks + slack


def _scan(rows: RowPass, search: Search) -> _Fast:
    """Pass over all rows once."""
    # Beyond 2^1000 its inverse would overflow; such a query stays far from 1, and harmless.
    scale = ldexp(1.0, min(1000, max(-1000, -frexp(search.size)[1])))
    parts = in_threads(
        lambda share: _scan_share(rows.stream(share), search, scale), rows.shares, rows.workers
    )
    return _Fast(
        products=np.concatenate([np.zeros(0), *(part.products for part in parts)]),
        norms=np.concatenate([np.zeros(0), *(part.norms for part in parts)]),
        scale=scale,
        error=max((part.error for part in parts), default=0.0),
    )


def _scan_share(blocks: Iterable[RowBlock], search: Search, scale: float) -> _Fast:
    kernel: _Kernel | None = None
    products, norms = [np.zeros(0)], [np.zeros(0)]
    for block in blocks:
        if kernel is None:
            decode = search.mean is not None or block.dtype.name not in KERNELS
            kernel = _Kernel.build(search.query * scale, block.dtype, decode=decode)
        measure = kernel.cosines if search.metric is Metric.COSINE else kernel.products
        for values in _as_measured(block, kernel, search.mean):
            product, norm = measure(values)
            products.append(product)
            norms.append(norm)
    error = kernel.error if kernel else 0.0
    return _Fast(np.concatenate(products), np.concatenate(norms), scale, error)


def _as_measured(block: RowBlock, kernel: _Kernel, mean: Floats | None) -> Iterator[NDArray[Any]]:
    if kernel.dtype:
        yield aligned_rows(block.values)
        return
    for part in small_blocks((block,)):
        yield _decoded(part, mean)


def _decoded(block: RowBlock, mean: Floats | None) -> NDArray[np.float32]:
    values = numbers(block.values, block.dtype)
    if mean is not None:
        # In the precision of the values: float32 is enough for a bound (`_Kernel.build`).
        kept = np.may_share_memory(values, block.values)
        mean = mean.astype(values.dtype)
        values = np.subtract(values, mean, out=None if kept else values)
    return np.ascontiguousarray(values, np.float32)


def _candidates(fast: _Fast, search: Search) -> NDArray[np.int64]:
    """Rows that may be among the best, and rows that the fast pass cannot judge."""
    sure, wanted = fast.trusted(search), fast.wanted(search)
    least, most = fast.bounds(search)
    least = least[wanted]
    bar = -np.inf
    if len(least) > search.top:
        bar = np.partition(least, len(least) - search.top)[len(least) - search.top]
    chosen = (wanted & (most >= bar)) | ~sure
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
