"""The one pass over a table: every row's numbers, in memory that its values never fill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embcalc.core.blocks import RowBlock
from embcalc.core.dtypes import DType
from embcalc.core.progress import Progress, silent
from embcalc.rows.access import RowSource
from embcalc.rows.columns import Columns, ColumnSums
from embcalc.rows.elements import Elements, block_absmax
from embcalc.rows.exact import row_norms
from embcalc.rows.fingerprints import bit_keys
from embcalc.rows.kernels import Dots, Floats, Kernels, kernels_for, to_float64
from embcalc.rows.signatures import SignatureMaker, Signatures

SAMPLE_ROWS = 1024
"""Rows kept, evenly spread, to look for collapsed clusters."""
_REPORT_EVERY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScan:
    """What one pass over a table leaves: some numbers a row."""

    norms: Floats
    """L2 norms `[rows]`; NaN or infinite where the row is not finite."""
    nonfinite: NDArray[np.bool_]
    """Rows with a NaN or an infinity, `[rows]`."""
    keys: NDArray[np.uint64]
    """Equal for rows of equal bits `[rows]`; the reverse has to be verified."""
    signatures: Signatures | None
    """None for tables too narrow for directions to tell rows apart."""
    projections: Floats
    """Products with the directions that were asked for, `[rows, k]`."""
    sample_rows: NDArray[np.int64]
    """Numbers of the rows in `sample`."""
    sample: NDArray[np.float32]
    """Some rows, evenly spread, `[n, width]`; finite and not zero."""
    elements: Elements
    columns: Columns
    dtype: DType
    """Of the values as they were read: a dequantised table is F32."""

    @property
    def zero(self) -> NDArray[np.bool_]:
        """Rows whose numbers are all 0, `[rows]`."""
        mask: NDArray[np.bool_] = (self.norms == 0) & ~self.nonfinite
        return mask

    def same_rows(self, other: RowScan) -> bool:
        """Whether two tables may hold the same bits, by the keys and norms of all rows."""
        return (
            self.dtype == other.dtype
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.norms, other.norms, equal_nan=True)
        )

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Rows whose norm is a finite number, `[rows]`."""
        return np.isfinite(self.norms)


def scan(
    checkpoint: RowSource,
    name: str,
    *,
    directions: Floats | None = None,
    progress: Progress = silent,
) -> RowScan:
    """Read a table once, in blocks that stay in the cache.

    Args:
        checkpoint: where the table lies.
        name: its stored name; `[rows, width]`.
        directions: `[k, width]` to multiply every row with.
        progress: told about the bytes done.

    Raises:
        CheckpointError: the values cannot be had.
        SourceError: the file cannot be read.
    """
    tensor = checkpoint.tensors[name]
    work: _Pass | None = None
    for number, block in enumerate(checkpoint.blocks(name)):
        if work is None:
            work = _Pass(tensor.rows, tensor.width, block.dtype, directions)
        work.add(block)
        if number % _REPORT_EVERY == 0:
            done = block.start + len(block.values)
            progress(name, tensor.nbytes * done // tensor.rows, tensor.nbytes)
    progress(name, tensor.nbytes, tensor.nbytes)
    if work is None:
        work = _Pass(tensor.rows, tensor.width, tensor.dtype, directions)
    return work.result()


class _Pass:
    """The accumulators of one pass."""

    def __init__(self, rows: int, width: int, dtype: DType, directions: Floats | None) -> None:
        self._dtype = dtype
        self._kernels: Kernels = kernels_for(dtype)
        self._norms = np.zeros(rows)
        self._nonfinite = np.zeros(rows, dtype=np.bool_)
        self._keys = np.zeros(rows, dtype=np.uint64)
        asked = np.empty((0, width)) if directions is None else directions
        self._projections = np.zeros((rows, 1 + len(asked)))
        self._dots: Dots = self._kernels.dots(np.concatenate([np.ones((1, width)), asked]))
        self._signatures = SignatureMaker.build(rows, width, dtype, self._kernels)
        self._absmax = 0.0
        self._columns = ColumnSums(rows, width, dtype)
        self._sample_step = max(1, rows // SAMPLE_ROWS)
        self._sample: list[tuple[NDArray[np.int64], NDArray[np.float32]]] = []
        self._width = width

    def add(self, block: RowBlock) -> None:
        """Take in one block."""
        values, dtype = block.values, self._dtype
        here = slice(block.start, block.start + len(values))
        norms, nonfinite = row_norms(values, dtype, self._kernels)
        self._norms[here] = norms
        self._nonfinite[here] = nonfinite
        self._keys[here] = bit_keys(values)
        self._projections[here] = self._dots(values)
        self._absmax = max(self._absmax, block_absmax(values, dtype))
        if self._signatures is not None:
            self._signatures.add(here, values)
        self._columns.add(block, nonfinite)
        self._keep_sample(block, norms)

    def _keep_sample(self, block: RowBlock, norms: Floats) -> None:
        first = -block.start % self._sample_step
        chosen = np.arange(first, len(norms), self._sample_step)
        chosen = chosen[np.isfinite(norms[chosen]) & (norms[chosen] > 0)]
        if len(chosen):
            numbers = to_float64(block.values[chosen], self._dtype)
            numbers /= norms[chosen][:, None]
            self._sample.append((chosen + block.start, numbers.astype(np.float32)))

    def result(self) -> RowScan:
        """What the pass has gathered."""
        finite = ~self._nonfinite
        sample_rows = [rows for rows, _ in self._sample] or [np.empty(0, dtype=np.int64)]
        sample = [values for _, values in self._sample] or [
            np.empty((0, self._width), dtype=np.float32)
        ]
        return RowScan(
            norms=self._norms,
            nonfinite=self._nonfinite,
            keys=self._keys,
            signatures=None if self._signatures is None else self._signatures.finish(self._norms),
            projections=self._projections[:, 1:],
            sample_rows=np.concatenate(sample_rows),
            sample=np.concatenate(sample),
            elements=Elements.from_rows(
                self._norms[finite], self._projections[finite, 0], self._width, self._absmax
            ),
            columns=self._columns.finish(),
            dtype=self._dtype,
        )
