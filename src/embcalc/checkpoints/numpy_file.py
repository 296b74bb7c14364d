"""NumPy's .npy and .npz files."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from tokenize import TokenError

import numpy as np

from embcalc.checkpoints.base import RowBlock
from embcalc.checkpoints.messages import cut_short, shown, where
from embcalc.checkpoints.raw import Slice, row_blocks
from embcalc.checkpoints.strided import strided_blocks
from embcalc.checkpoints.zip_file import ZipFile
from embcalc.core.dtypes import BY_NAME, DType
from embcalc.core.files import File
from embcalc.core.findings import Problem
from embcalc.core.tables import TensorInfo
from embcalc.errors import CheckpointError

MAX_HEADER = 1 << 16
_BROKEN = (ValueError, TypeError, SyntaxError, TokenError, OSError, RecursionError, MemoryError)
"""What numpy raises at one header or another; it reads them as Python literals."""
_DTYPES = {
    "b1": "BOOL", "u1": "U8", "i1": "I8", "i2": "I16", "u2": "U16", "i4": "I32", "u4": "U32",
    "i8": "I64", "u8": "U64", "f2": "F16", "f4": "F32", "f8": "F64", "c8": "C64",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Array:
    """The header of a .npy file."""

    shape: tuple[int, ...]
    dtype: DType
    start: int
    big_endian: bool
    by_columns: bool

    @property
    def strides(self) -> tuple[int, ...]:
        """Scalars from one index of each axis to the next, for arrays stored by columns."""
        steps = [1]
        for length in self.shape[:-1]:
            steps.append(steps[-1] * length)
        return tuple(steps[: len(self.shape)])


class NumpyCheckpoint:
    """One .npy file, or the arrays of one .npz file.

    Raises:
        CheckpointError: it is broken, or holds Python objects.
        SourceError: it cannot be read.
    """

    format = "numpy"
    metadata: Mapping[str, str] = {}
    problems: tuple[Problem, ...] = ()
    unread: str | None = None

    def __init__(self, file: File, *, archive: bool) -> None:
        self.label = where(file)
        self.files = (file.name,)
        self._places: dict[str, tuple[File, _Array]] = {}
        members = _members(file) if archive else {_stem(file.name): file}
        for name, member in members.items():
            self._places[name] = (member, _read_header(member))
        self.tensors: Mapping[str, TensorInfo] = {
            name: _info(name, array, file.name) for name, (_, array) in self._places.items()
        }
        for name, (member, array) in self._places.items():
            needed = array.start + self.tensors[name].nbytes
            if needed > member.size:
                raise CheckpointError(*cut_short(member, needed, (), 1))

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream rows."""
        file, array = self._places[name]
        tensor = self.tensors[name]
        wanted = range(tensor.rows) if rows is None else rows
        if array.by_columns and len(array.shape) > 1:
            data = Slice(file, array.start, tensor.nbytes)
            big = array.big_endian
            return strided_blocks(data, 0, array.strides, tensor, wanted, big_endian=big)
        return row_blocks(file, array.start, tensor, wanted, big_endian=array.big_endian)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".npy")


def _members(file: File) -> dict[str, File]:
    archive = ZipFile(file)
    names = [name for name in archive.members if name.endswith(".npy")]
    return {name.removesuffix(".npy"): archive.range(name) for name in names}


def _info(name: str, array: _Array, file: str) -> TensorInfo:
    scalars = 1
    for length in array.shape:
        scalars *= length
    return TensorInfo(
        name=name,
        shape=array.shape,
        dtype=array.dtype,
        file=file,
        nbytes=array.dtype.nbytes(scalars),
    )


def _read_header(file: File) -> _Array:
    stream = io.BytesIO(file.read(0, MAX_HEADER))
    try:
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of headers that Python 2 wrote
            shape, by_columns, dtype = read(stream)
    except _BROKEN as error:
        what = " ".join(str(error).split())[:120] or type(error).__name__
        raise CheckpointError(
            f"{where(file)} has a broken NumPy header: {what}",
            hint="write it again with numpy.save",
        ) from error
    if any(length < 0 or length >= 1 << 62 for length in shape):
        raise CheckpointError(
            f"{where(file)} has an impossible shape", hint="write it again with numpy.save"
        )
    known = _DTYPES.get(dtype.str[1:])
    if known is None or dtype.names is not None:
        raise CheckpointError(
            f"{where(file)} holds {shown(str(dtype))} values: not read",
            hint="Python objects are refused; save plain numbers",
        )
    return _Array(
        shape=tuple(int(length) for length in shape),
        dtype=BY_NAME[known],
        start=stream.tell(),
        big_endian=dtype.str[0] == ">",
        by_columns=bool(by_columns),
    )
