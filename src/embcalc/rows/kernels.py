"""Row norms and dot products of stored bits: numkong where it has a kernel, numpy elsewhere.

Both give the same numbers: norms to 1e-6 relative of float64, whatever the width.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from embcalc.core import decode
from embcalc.core.dtypes import DType

Floats = NDArray[np.float64]
Dots = Callable[[NDArray[Any]], Floats]
"""Carried values `[n, columns]` to dot products `[n, k]`."""
Sketch = Callable[[NDArray[Any]], NDArray[Any]]
"""The same in float32 or float64, as is quicker."""

_Name = Literal["bf16", "f16", "f32", "f64", "e4m3", "e5m2"]
"""How numkong calls a type."""

SAFE_NORMS = (1e-12, 1e18)
"""Between these a fast norm can be trusted.

Kernels square in float32: below 1e-19 an element's square is lost, above 1.8e19 it overflows.
The lower bound leaves room for 1e6 lost elements that would together change a norm by 1e-6.
"""

_NUMKONG: dict[str, _Name] = {
    "BF16": "bf16",
    "F16": "f16",
    "F32": "f32",
    "F64": "f64",
    "F8_E4M3": "e4m3",
    "F8_E5M2": "e5m2",
}
_ADDITIONS = 32
"""Numbers whose squares may be added up one after the other in float32.

Where one number is far larger than the others, every addition of their squares rounds the same way,
by up to half a unit in the last place: 32 of them end within 9.5e-7 of the norm (seen: 9.3e-7). How
many columns that is depends on the sums that a processor takes side by side: `exact_columns`.
"""
_LONGEST_SLICE = 1 << 20
_NARROWEST_SLICE = 128
_PIECE = 1 << 13
"""Numbers that are decoded at once."""


class Kernels(Protocol):
    """What a pass over rows needs of arithmetic, for one dtype."""

    def norms(self, values: NDArray[Any]) -> Floats:
        """L2 norms `[n]` of carried values `[n, columns]`; fast, to be trusted in `SAFE_NORMS`."""

    def dots(self, directions: Floats) -> Dots:
        """Prepare products with the rows of `directions`, `[k, width]`."""

    def sketch(self, directions: Floats) -> Sketch:
        """Prepare the same with directions of numbers near 1, which may be rounded."""


def kernels_for(dtype: DType) -> Kernels:
    """The fastest kernels for a dtype on this machine.

    `EMBCALC_KERNELS=numpy` in the environment forces the numpy path.
    """
    name = _NUMKONG.get(dtype.name)
    if name is None or os.environ.get("EMBCALC_KERNELS") == "numpy" or not _has_numkong():
        return NumpyKernels(dtype)
    columns = exact_columns(name)
    return NumpyKernels(dtype) if columns < _NARROWEST_SLICE else NumkongKernels(name, columns)


@lru_cache(maxsize=1)
def _has_numkong() -> bool:
    try:
        import numkong  # noqa: F401 - only asked for
    except ImportError:
        return False
    return True


@lru_cache(maxsize=8)
def exact_columns(name: _Name) -> int:
    """Columns that numkong may sum on this processor without the norm being 1e-6 off.

    Measured on one large number before many whose squares are each less than half a unit in the
    last place of its square: those that meet it in one float32 sum are lost. A processor that takes
    eight sums side by side loses an eighth of them; one that sums in float64 loses none.
    """
    import numkong

    width, small = 1024, 2.0**-5
    row = np.full((1, width), small)
    row[0, 0] = 256
    stored = row.astype(_scalar(name))
    found = _seen_by_numkong(stored, name)
    kept = float(np.asarray(numkong.dot(found, found))[0]) - 256.0**2
    together = width - round(kept / small**2)
    return _LONGEST_SLICE if together <= 1 else _ADDITIONS * width // together


def to_float64(values: NDArray[Any], dtype: DType) -> Floats:
    """Decode carried values `[n, columns]` to float64 `[n, width]`, exactly.

    Raises:
        ValueError: there is no decoder for the dtype.
    """
    # A signalling NaN is data here, and no reason for a warning.
    with np.errstate(invalid="ignore"):
        return decode.to_float64(values, dtype)


def decoded(values: NDArray[Any], dtype: DType) -> Iterator[tuple[slice, Floats]]:
    """Decode carried values `[n, columns]` a few rows at a time: which rows, and their numbers.

    Memory for more at once would come from the system every time, and go back to it.
    """
    width = values.shape[1] * max(1, 8 * values.itemsize // dtype.bits)
    few = max(1, _PIECE // max(1, width))
    for at in range(0, len(values), few):
        here = slice(at, min(at + few, len(values)))
        yield here, to_float64(values[here], dtype)


def row_lengths(numbers: Floats) -> Floats:
    """L2 norms `[n]` of float64 rows `[n, width]`, squared as they are."""
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", numbers, numbers))
    return lengths


class NumpyKernels:
    """float64 arithmetic on decoded rows: slower, and the measure of the others."""

    def __init__(self, dtype: DType) -> None:
        self._dtype = dtype

    def norms(self, values: NDArray[Any]) -> Floats:
        """L2 norms."""
        lengths = np.zeros(len(values))
        with np.errstate(over="ignore", invalid="ignore"):
            for here, numbers in decoded(values, self._dtype):
                lengths[here] = row_lengths(numbers)
        return lengths

    def dots(self, directions: Floats) -> Dots:
        """Products by matrix multiplication."""
        columns = np.ascontiguousarray(directions.T)

        def product(values: NDArray[Any]) -> Floats:
            result = np.zeros((len(values), columns.shape[1]))
            with np.errstate(over="ignore", invalid="ignore"):
                for here, numbers in decoded(values, self._dtype):
                    result[here] = numbers @ columns
            return result

        return product

    def sketch(self, directions: Floats) -> Sketch:
        """The same products."""
        return self.dots(directions)


class NumkongKernels:
    """numkong on stored bits, nothing decoded."""

    def __init__(self, name: _Name, columns: int) -> None:
        self._name: _Name = name
        self._slice = columns

    def norms(self, values: NDArray[Any]) -> Floats:
        """L2 norms, long rows in slices whose squares are added in float64.

        A row times itself: numkong lets other threads run meanwhile, which it does not while it
        takes norms.
        """
        values = _aligned(values)
        n, width = values.shape
        if values.size == 0:
            return np.zeros(n)
        parts = _equal_parts(width, self._slice)
        if parts is not None:
            squares = self._squares(values.reshape(n * parts, -1)).reshape(n, parts)
            lengths: Floats = np.sqrt(np.add.reduce(squares, axis=1))
            return lengths
        total = np.zeros(n)
        for at in range(0, width, self._slice):
            total += self._squares(values[:, at : at + self._slice])
        return np.sqrt(total)

    def _squares(self, values: NDArray[Any]) -> Floats:
        """Sums of squares `[n]` of rows that are no longer than a slice."""
        import numkong

        squares = np.empty(len(values))
        numkong.dot(values, values, self._name, out=squares)
        return squares

    def dots(self, directions: Floats) -> Dots:
        """Products with directions that are kept in two halves of the stored type.

        One BF16 holds 8 bits, two hold 16, so a direction of unit length is met to 1e-5. 8-bit
        types are too coarse for that and widen to BF16, which holds each of their values.
        """
        packed = _pack(directions, self._name, halves=1)
        if not packed.exact:
            packed = _pack(directions, _WIDER.get(self._name, self._name), halves=2)

        def product(values: NDArray[Any]) -> Floats:
            import numkong

            view = self._view(values, packed.name)
            raw = np.asarray(numkong.dots_packed(view, packed.matrix)).astype(np.float64)
            with np.errstate(over="ignore", invalid="ignore"):
                return packed.joined(raw)

        return product

    def sketch(self, directions: Floats) -> Sketch:
        """Products with directions rounded to the stored type, or to the wider one."""
        import numkong

        name = _WIDER.get(self._name, self._name)
        stored = np.ascontiguousarray(directions.astype(_scalar(name)))
        matrix = numkong.dots_pack(_seen_by_numkong(stored, name), dtype=name)
        return lambda values: np.asarray(numkong.dots_packed(self._view(values, name), matrix))

    def _view(self, values: NDArray[Any], name: _Name) -> Any:  # noqa: ANN401 - as below
        """Stored values as numkong's, made wider where another type is asked for."""
        import numkong

        view = _seen_by_numkong(np.ascontiguousarray(_aligned(values)), self._name)
        return view if name == self._name else numkong.astype(view, name)


def _seen_by_numkong(stored: NDArray[Any], name: _Name) -> Any:  # noqa: ANN401 - no public type
    """A contiguous array as numkong's, of the type it calls `name`."""
    import numkong

    return numkong.from_pointer(stored.ctypes.data, stored.shape, name, owner=stored)


def _aligned(values: NDArray[Any]) -> NDArray[Any]:
    """Values at addresses that numkong takes: data in a file may begin at any byte."""
    return values if values.flags.aligned else values.copy()


@lru_cache(maxsize=64)
def _equal_parts(width: int, limit: int) -> int | None:
    """Smallest number of equal slices of at most `limit` columns; None where only slivers fit."""
    for parts in range(-(-width // limit), width // _NARROWEST_SLICE + 1):
        if width % parts == 0:
            return parts
    return None


_WIDER: dict[_Name, _Name] = {"e4m3": "bf16", "e5m2": "bf16"}


@dataclass(frozen=True, slots=True)
class _Packed:
    """Directions as numkong wants them."""

    matrix: Any
    """numkong's, which has no public type."""
    name: _Name
    scales: Floats
    """Factor of each packed row."""
    count: int
    """Directions; a second half of as many rows holds what rounding lost of them."""
    exact: bool
    """Whether one half loses nothing."""

    def joined(self, raw: Floats) -> Floats:
        """Products with the directions from products with the packed rows."""
        scaled: Floats = raw * self.scales
        if len(self.scales) == self.count:
            return scaled
        return scaled[:, : self.count] + scaled[:, self.count :]


def _pack(directions: Floats, name: _Name, *, halves: Literal[1, 2]) -> _Packed:
    import numkong

    scalar = _scalar(name)
    largest = np.abs(directions).max(axis=1, keepdims=True)
    scale = np.where(largest > 0, largest, 1.0)
    unit = directions / scale
    high = unit.astype(scalar)
    lost = unit - high.astype(np.float64)
    rows = [high] if halves == 1 else [high, (lost * 256).astype(scalar)]
    stored = np.ascontiguousarray(np.concatenate(rows))
    return _Packed(
        numkong.dots_pack(_seen_by_numkong(stored, name), dtype=name),
        name,
        np.concatenate([scale[:, 0], scale[:, 0] / 256][:halves]),
        len(directions),
        exact=not lost.any(),
    )


def _scalar(name: _Name) -> np.dtype[Any]:
    """The type of numpy or ml_dtypes that numkong means by a name."""
    import ml_dtypes

    scalars: dict[_Name, Any] = {
        "bf16": ml_dtypes.bfloat16,
        "f16": np.float16,
        "f32": np.float32,
        "f64": np.float64,
        "e4m3": ml_dtypes.float8_e4m3fn,
        "e5m2": ml_dtypes.float8_e5m2,
    }
    scalar: np.dtype[Any] = np.dtype(scalars[name])
    return scalar
