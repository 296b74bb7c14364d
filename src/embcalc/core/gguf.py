"""The header of a GGUF file: metadata and tensors, without the arrays in between.

Arrays (a vocabulary with its merges is one of 400,000 strings) are stepped over and remembered
by place; `read_strings` and `read_numbers` fetch one when it is wanted.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from embcalc.core.dtypes import GGML_DTYPES, DType
from embcalc.core.files import File
from embcalc.errors import CheckpointError

MAGIC = b"GGUF"
MAX_DIMS = 4
MAX_NESTING = 4
MAX_STRING = 1 << 28
"""Bytes of one string; chat templates are the longest, with some kilobytes."""
WINDOW = 1 << 20
_ALIGNMENT = 32
_STRING, _ARRAY, _BOOL = 8, 9, 7
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GgufArray:
    """An array of the metadata, known by its place."""

    type: int
    """Type code of the elements; 8 is a string."""
    count: int
    start: int
    """Offset in the file of the first element."""
    stop: int


Scalar = bool | int | float | str
Value = Scalar | GgufArray


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor of the header."""

    name: str
    shape: tuple[int, ...]
    """Outermost axis first, the other way round than stored."""
    dtype: DType
    start: int
    """Offset in the file."""
    nbytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    """What precedes the data."""

    version: int
    big_endian: bool
    metadata: Mapping[str, Value]
    tensors: tuple[GgufTensor, ...]
    data_start: int

    @property
    def end(self) -> int:
        """Bytes that the file must have."""
        return max((tensor.start + tensor.nbytes for tensor in self.tensors), default=0)

    def text(self, key: str) -> str | None:
        """A string of the metadata, or None."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def integer(self, key: str) -> int | None:
        """An integer of the metadata, or None."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_header(file: File) -> GgufHeader:
    """Read everything before the data.

    Raises:
        CheckpointError: the file is no GGUF file of version 2 or 3, or its header is broken.
        SourceError: it cannot be read.
    """
    cursor = _Cursor(file)
    if cursor.take(4) != MAGIC:
        raise cursor.broken("no GGUF file: it does not begin with 'GGUF'")
    _read_version(cursor)
    tensor_count, pair_count = cursor.number("Q"), cursor.number("Q")
    cursor.expect(tensor_count, 24, "tensors")
    cursor.expect(pair_count, 13, "metadata entries")
    metadata: dict[str, Value] = {}
    for _ in range(pair_count):
        key = cursor.string()
        metadata[key] = _read_value(cursor)
    tensors = [_read_info(cursor) for _ in range(tensor_count)]
    if len({tensor.name for tensor in tensors}) < tensor_count:
        raise cursor.broken("two tensors of one name")
    alignment = metadata.get("general.alignment", _ALIGNMENT)
    if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20:
        raise cursor.broken(f"an alignment of {alignment}")
    data_start = -(-cursor.position // alignment) * alignment
    return GgufHeader(
        version=cursor.version,
        big_endian=cursor.order == ">",
        metadata=metadata,
        tensors=tuple(replace(tensor, start=data_start + tensor.start) for tensor in tensors),
        data_start=data_start,
    )


def read_strings(file: File, header: GgufHeader, key: str) -> list[str] | None:
    """Fetch an array of strings of the metadata; None where there is none of that key.

    Bytes that are no UTF-8 become U+FFFD.

    Raises:
        SourceError: the file cannot be read.
    """
    array = header.metadata.get(key)
    if not isinstance(array, GgufArray) or array.type != _STRING:
        return None
    data = file.read(array.start, array.stop - array.start)
    length_at = struct.Struct(">Q" if header.big_endian else "<Q").unpack_from
    strings, at = [], 0
    for _ in range(array.count):
        begin = at + 8
        at = begin + length_at(data, at)[0]
        strings.append(data[begin:at].decode("utf-8", "replace"))
    return strings


def read_numbers(file: File, header: GgufHeader, key: str) -> NDArray[np.generic] | None:
    """Fetch an array of numbers of the metadata; None where there is none of that key.

    Raises:
        SourceError: the file cannot be read.
    """
    array = header.metadata.get(key)
    if not isinstance(array, GgufArray) or array.type not in _SCALARS:
        return None
    kind = np.dtype((">" if header.big_endian else "<") + _SCALARS[array.type])
    data = file.read(array.start, array.stop - array.start)
    return np.frombuffer(data, kind).astype(kind.newbyteorder("="))


class _Cursor:
    """Reads a header from front to back through a window of the file."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._window = b""
        self._base = 0
        self._at = 0
        self.order = "<"
        self.version = 0

    @property
    def position(self) -> int:
        """Offset in the file of the next byte."""
        return self._base + self._at

    def broken(self, what: str) -> CheckpointError:
        """Word an error about this file."""
        name = self._file.local_path or self._file.name
        return CheckpointError(
            f"{name} is a broken GGUF file at byte {self.position:,}: {what}",
            hint="download or convert it again",
        )

    def take(self, length: int) -> bytes:
        """Read the next bytes."""
        if self._at + length > len(self._window):
            self._refill(length)
        begin = self._at
        self._at += length
        return self._window[begin : self._at]

    def skip(self, length: int) -> None:
        """Step over bytes."""
        if self.position + length > self._file.size:
            raise self.broken(f"it ends at byte {self._file.size:,}")
        if self._at + length <= len(self._window):
            self._at += length
        else:
            self._base, self._window, self._at = self.position + length, b"", 0

    def number(self, code: str) -> int:
        """Read one integer."""
        (value,) = struct.unpack(self.order + code, self.take(struct.calcsize(code)))
        return int(value)

    def string(self) -> str:
        """Read one string; bytes that are no UTF-8 become U+FFFD."""
        length = self.number("Q")
        if length > min(MAX_STRING, self._file.size - self.position):
            raise self.broken(f"a string of {length:,} bytes")
        return self.take(length).decode("utf-8", "replace")

    def expect(self, count: int, least: int, what: str) -> None:
        """Refuse a count of things, each of `least` bytes or more, that cannot all be there."""
        if count * least > self._file.size - self.position:
            raise self.broken(f"{count:,} {what} promised, and the file ends before")

    def skip_strings(self, count: int) -> None:
        """Step over strings as fast as Python can."""
        length_at = struct.Struct(self.order + "Q").unpack_from
        while count:
            if len(self._window) - self._at < 8:
                self._refill(8)
            window, at, last = self._window, self._at, len(self._window) - 8
            while count and at <= last:
                at += 8 + length_at(window, at)[0]
                count -= 1
            beyond = at - len(window)
            self._at = min(at, len(window))
            if beyond > 0:
                self.skip(beyond)

    def _refill(self, length: int) -> None:
        position = self.position
        self._window = self._file.read(position, max(WINDOW, length))
        self._base, self._at = position, 0
        if len(self._window) < length:
            raise self.broken(f"it ends at byte {self._file.size:,}")


def _read_version(cursor: _Cursor) -> None:
    raw = cursor.take(4)
    for order in "<>":
        (version,) = struct.unpack(order + "I", raw)
        if version in (2, 3):
            cursor.order, cursor.version = order, version
            return
    version = int.from_bytes(raw, "little")
    raise cursor.broken(f"GGUF version {version} (embcalc reads versions 2 and 3)")


def _read_value(cursor: _Cursor) -> Value:
    kind = cursor.number("I")
    if kind == _STRING:
        return cursor.string()
    if kind == _ARRAY:
        return _skip_array(cursor, 0)
    if kind not in _SCALARS:
        raise cursor.broken(f"unknown type {kind} of a metadata value")
    code = _SCALARS[kind]
    (value,) = struct.unpack(cursor.order + code, cursor.take(struct.calcsize(code)))
    return bool(value) if kind == _BOOL else value


def _skip_array(cursor: _Cursor, depth: int) -> GgufArray:
    kind, count = cursor.number("I"), cursor.number("Q")
    start = cursor.position
    if kind == _STRING:
        cursor.expect(count, 8, "strings")
        cursor.skip_strings(count)
    elif kind == _ARRAY:
        cursor.expect(count, 12, "arrays")
        if depth >= MAX_NESTING:
            raise cursor.broken("arrays nested too deep")
        for _ in range(count):
            _skip_array(cursor, depth + 1)
    elif kind in _SCALARS:
        size = struct.calcsize(_SCALARS[kind])
        cursor.expect(count, size, "numbers")
        cursor.skip(count * size)
    else:
        raise cursor.broken(f"unknown type {kind} of an array")
    return GgufArray(kind, count, start, cursor.position)


def _read_info(cursor: _Cursor) -> GgufTensor:
    """Read one tensor's entry; its `start` counts from the first byte of data."""
    name = cursor.string()
    dims = cursor.number("I")
    if dims > MAX_DIMS:
        raise cursor.broken(f"tensor {name[:80]!r} has {dims:,} axes")
    shape = tuple(cursor.number("Q") for _ in range(dims))[::-1]
    code, offset = cursor.number("I"), cursor.number("Q")
    dtype = GGML_DTYPES.get(code)
    if dtype is None:
        raise cursor.broken(f"tensor {name[:80]!r} has the unknown type {code}")
    if shape and shape[-1] % dtype.block:
        raise cursor.broken(
            f"rows of tensor {name[:80]!r} have {shape[-1]:,} scalars,"
            f" and {dtype} stores {dtype.block} together"
        )
    return GgufTensor(name, shape, dtype, offset, dtype.nbytes(prod(shape)))
