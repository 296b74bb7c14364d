"""The one pass over a table: every row's numbers, in memory that its values never fill."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from embcalc.core.blocks import RowBlock
from embcalc.core.dtypes import DType
from embcalc.core.progress import Progress, silent
from embcalc.core.tables import TensorInfo
from embcalc.rows.access import RowSource
from embcalc.rows.columns import Columns, ColumnSums
from embcalc.rows.elements import Elements, block_absmax
from embcalc.rows.exact import row_norms
from embcalc.rows.fingerprints import bit_keys
from embcalc.rows.kernels import Dots, Floats, Kernels, kernels_for
from embcalc.rows.parallel import Meter, in_threads
from embcalc.rows.signatures import SignatureMaker, Signatures

PARALLEL_BYTES = 32 << 20
"""Tables below this size are done before a second thread has begun."""
_REPORT_EVERY = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RowHealth:
    """What the shortest pass over a table leaves: enough to say which rows are broken."""

    norms: Floats
    """L2 norms `[rows]`; NaN or infinite where the row is not finite."""
    nonfinite: NDArray[np.bool_]
    """Rows with a NaN or an infinity, `[rows]`."""
    keys: NDArray[np.uint64]
    """Equal for rows of equal bits `[rows]`; the reverse has to be verified."""
    dtype: DType
    """Of the values as they were read: a dequantised table is F32."""

    @property
    def zero(self) -> NDArray[np.bool_]:
        """Rows whose numbers are all 0, `[rows]`."""
        mask: NDArray[np.bool_] = (self.norms == 0) & ~self.nonfinite
        return mask

    def same_rows(self, other: RowHealth) -> bool:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScan(RowHealth):
    """What one pass over a table leaves: some numbers a row."""

    signatures: Signatures | None
    """None for tables too narrow for directions to tell rows apart."""
    projections: Floats
    """Products with the directions that were asked for, `[rows, k]`."""
    elements: Elements
    columns: Columns


def scan_health(
    checkpoint: RowSource, name: str, *, workers: int = 1, progress: Progress = silent
) -> RowHealth:
    """Read a table once, for its norms and keys alone: a third of the work of `scan`.

    Arguments and errors are those of `scan`.
    """
    tensor = checkpoint.tensors[name]
    dtype = _carried_dtype(checkpoint, tensor)
    width = _decoded_width(tensor.width, dtype)
    rows = _Rows.of(tensor.rows, width, dtype, None, health_only=True)
    _read(checkpoint, tensor, rows, workers, progress)
    return RowHealth(norms=rows.norms, nonfinite=rows.nonfinite, keys=rows.keys, dtype=dtype)


def scan(
    checkpoint: RowSource,
    name: str,
    *,
    directions: Floats | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> RowScan:
    """Read a table once, in blocks that stay in the cache.

    Args:
        checkpoint: where the table lies.
        name: its stored name; `[rows, width]`.
        directions: `[k, width]` to multiply every row with.
        workers: threads that read a share of a large table each; kernels run without the lock
            of the interpreter.
        progress: told about the bytes done.

    Raises:
        CheckpointError: the values cannot be had.
        SourceError: the file cannot be read.
    """
    tensor = checkpoint.tensors[name]
    dtype = _carried_dtype(checkpoint, tensor)
    rows = _Rows.of(tensor.rows, _decoded_width(tensor.width, dtype), dtype, directions)
    return _result(rows, _read(checkpoint, tensor, rows, workers, progress))


def _read(
    checkpoint: RowSource, tensor: TensorInfo, rows: _Rows, workers: int, progress: Progress
) -> list[_Tally]:
    """Fill the arrays of `rows`, a share of the table a thread."""
    meter = Meter(tensor.name, tensor.rows, tensor.nbytes, progress)
    if tensor.nbytes < PARALLEL_BYTES:
        workers = 1
    tallies = in_threads(
        lambda part: _read_part(checkpoint, tensor.name, part, rows, meter),
        _parts(tensor.rows, workers),
        workers,
        meter.stop,
    )
    progress(tensor.name, tensor.nbytes, tensor.nbytes)
    return tallies


def norms_of(source: RowSource, name: str, workers: int = 1) -> Floats:
    """Only the row norms of a table, `[rows]`, each checked in float64 where it is doubtful.

    Args:
        source: where the table lies.
        name: its stored name.
        workers: threads that read a share each.

    Raises:
        CheckpointError: the values cannot be had.
        SourceError: the file cannot be read.
    """
    tensor = source.tensors[name]
    dtype = _carried_dtype(source, tensor)
    kernels = kernels_for(dtype)
    norms = np.zeros(tensor.rows)

    def read(part: range) -> None:
        for block in source.blocks(name, part):
            here = slice(block.start, block.start + len(block.values))
            norms[here], _ = row_norms(block.values, dtype, kernels)

    in_threads(read, _parts(tensor.rows, workers), workers)
    return norms


def _carried_dtype(checkpoint: RowSource, tensor: TensorInfo) -> DType:
    """The dtype of the blocks: a reader that dequantises says F32."""
    for block in checkpoint.blocks(tensor.name, range(min(1, tensor.rows))):
        return block.dtype
    return tensor.dtype


def _parts(rows: int, workers: int) -> list[range]:
    bounds = [rows * part // workers for part in range(workers + 1)]
    return [range(low, high) for low, high in pairwise(bounds)]


def _decoded_width(width: int, dtype: DType) -> int:
    """Numbers a row: a complex one counts twice."""
    return 2 * width if dtype.kind == "complex" else width


@dataclass(frozen=True, slots=True)
class _Rows:
    """Numbers of all rows; each thread fills its own part of the arrays."""

    width: int
    dtype: DType
    kernels: Kernels
    dots: Dots | None
    norms: Floats
    nonfinite: NDArray[np.bool_]
    keys: NDArray[np.uint64]
    projections: Floats
    signatures: SignatureMaker | None
    health_only: bool

    @classmethod
    def of(
        cls,
        rows: int,
        width: int,
        dtype: DType,
        directions: Floats | None,
        *,
        health_only: bool = False,
    ) -> _Rows:
        """Empty arrays, and kernels prepared for the dtype."""
        kernels = kernels_for(dtype)
        return cls(
            width=width,
            dtype=dtype,
            kernels=kernels,
            dots=None if directions is None else kernels.dots(directions),
            norms=np.zeros(rows),
            nonfinite=np.zeros(rows, dtype=np.bool_),
            keys=np.zeros(rows, dtype=np.uint64),
            projections=np.zeros((rows, 0 if directions is None else len(directions))),
            signatures=None if health_only else SignatureMaker.build(rows, width, dtype, kernels),
            health_only=health_only,
        )


class _Tally:
    """What one part of a table adds up to."""

    def __init__(self, rows: _Rows) -> None:
        self.absmax = 0.0
        self.columns = ColumnSums(len(rows.norms), rows.width, rows.dtype)

    def add(self, rows: _Rows, block: RowBlock) -> None:
        """Take in one block."""
        values, dtype = block.values, rows.dtype
        here = slice(block.start, block.start + len(values))
        rows.norms[here], nonfinite = row_norms(values, dtype, rows.kernels)
        rows.nonfinite[here] = nonfinite
        rows.keys[here] = bit_keys(values)
        if rows.health_only:
            return
        if rows.dots is not None:
            rows.projections[here] = rows.dots(values)
        if rows.signatures is not None:
            rows.signatures.project(here, values)
        self.absmax = max(self.absmax, block_absmax(values, dtype))
        self.columns.add(block, nonfinite)


def _read_part(checkpoint: RowSource, name: str, part: range, rows: _Rows, meter: Meter) -> _Tally:
    tally = _Tally(rows)
    unreported = 0
    for number, block in enumerate(checkpoint.blocks(name, part)):
        if meter.stopped:
            break
        tally.add(rows, block)
        unreported += len(block.values)
        if number % _REPORT_EVERY == 0:
            meter.add(unreported)
            unreported = 0
    if rows.signatures is not None:
        rows.signatures.sign(part, rows.norms)
    return tally


def _result(rows: _Rows, tallies: list[_Tally]) -> RowScan:
    finite = ~rows.nonfinite
    sums = tallies[0].columns
    for other in tallies[1:]:
        sums.merge(other.columns)
    columns = sums.finish()
    absmax = max(tally.absmax for tally in tallies)
    return RowScan(
        norms=rows.norms,
        nonfinite=rows.nonfinite,
        keys=rows.keys,
        signatures=None if rows.signatures is None else rows.signatures.finish(),
        projections=rows.projections,
        elements=Elements.from_rows(rows.norms[finite], columns, rows.width, absmax),
        columns=columns,
        dtype=rows.dtype,
    )
