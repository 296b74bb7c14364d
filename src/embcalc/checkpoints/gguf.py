"""GGUF files: llama.cpp's container, plain and quantised."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.checkpoints.base import RowBlock
from embcalc.checkpoints.messages import cut_short, listed, shown, where
from embcalc.checkpoints.raw import check_rows, row_blocks
from embcalc.core.blocks import BLOCK_BYTES
from embcalc.core.dtypes import BY_NAME
from embcalc.core.files import File
from embcalc.core.findings import Problem, Severity
from embcalc.core.gguf import GgufArray, GgufHeader, GgufTensor, read_header
from embcalc.core.tables import TensorInfo
from embcalc.errors import CheckpointError, MissingExtraError


class GgufCheckpoint:
    """One .gguf file.

    Raises:
        CheckpointError: it is broken or cut short.
        SourceError: it cannot be read.
    """

    format = "gguf"
    unread: str | None = None

    def __init__(self, file: File) -> None:
        self.label = where(file)
        self.files = (file.name,)
        self._file = file
        self.header = read_header(file)
        _check_size(file, self.header)
        self._places = {tensor.name: tensor for tensor in self.header.tensors}
        self.metadata: Mapping[str, str] = {
            key: str(value)
            for key, value in self.header.metadata.items()
            if not isinstance(value, GgufArray)
        }
        self.tensors: Mapping[str, TensorInfo] = {
            tensor.name: TensorInfo(
                name=tensor.name,
                shape=tensor.shape,
                dtype=tensor.dtype,
                file=file.name,
                nbytes=tensor.nbytes,
            )
            for tensor in self.header.tensors
        }
        self.problems: tuple[Problem, ...] = tuple(_problems(file.name, self.header))

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream rows; quantised ones come dequantised, as F32."""
        tensor, place = self.tensors[name], self._places[name]
        wanted = range(tensor.rows) if rows is None else rows
        if tensor.dtype.kind != "quantised":
            return row_blocks(
                self._file, place.start, tensor, wanted, big_endian=self.header.big_endian
            )
        if self.header.big_endian:
            raise CheckpointError(
                f"{self.label} is big-endian and {tensor.dtype}: its values are not read",
                hint="convert it to little endian with gguf-convert-endian",
            )
        return _dequantised(self._file, place, tensor, wanted)


def _dequantised(
    file: File, place: GgufTensor, tensor: TensorInfo, rows: range
) -> Iterator[RowBlock]:
    check_rows(tensor, rows)
    dequantise = _dequantiser(tensor)
    row_bytes = tensor.dtype.nbytes(tensor.width)
    if not row_bytes:
        return
    # Blocks are of the size that they have as float32.
    per_block = max(1, BLOCK_BYTES // (4 * tensor.width))
    row = rows.start
    start = place.start + rows.start * row_bytes
    for piece in file.stream(start, len(rows) * row_bytes, per_block * row_bytes):
        packed = np.frombuffer(piece, np.uint8).reshape(-1, row_bytes)
        yield RowBlock(row, dequantise(packed), BY_NAME["F32"])
        row += len(packed)


class _Dequantiser:
    """Calls the gguf package for one quantised type."""

    def __init__(self, function: Any, code: Any) -> None:  # noqa: ANN401 - an untyped package
        self._function = function
        self._code = code

    def __call__(self, packed: NDArray[np.uint8]) -> NDArray[np.float32]:
        with np.errstate(all="ignore"):
            values: NDArray[np.float32] = self._function(packed, self._code)
        return values


def _dequantiser(tensor: TensorInfo) -> _Dequantiser:
    try:
        from gguf import GGMLQuantizationType, quants
    except ImportError as error:
        raise MissingExtraError(f"reading {tensor.dtype} values", "gguf") from error
    try:
        code = GGMLQuantizationType[tensor.dtype.name]
        quants.dequantize(np.zeros((1, tensor.dtype.bits // 8), np.uint8), code)
    except (KeyError, NotImplementedError) as error:
        raise CheckpointError(
            f"the installed gguf package cannot dequantise {tensor.dtype}",
            hint="pip install --upgrade gguf",
        ) from error
    return _Dequantiser(quants.dequantize, code)


def _check_size(file: File, header: GgufHeader) -> None:
    if header.end <= file.size:
        return
    packed = sum(-(-tensor.nbytes // 32) * 32 for tensor in header.tensors)
    beyond = next((t for t in header.tensors if t.start + t.nbytes > file.size), None)
    if beyond is not None and header.data_start + packed <= file.size:
        raise CheckpointError(
            f"{where(file)} places {shown(beyond.name)} at byte {beyond.start:,}, past its end at"
            f" {file.size:,}, though it is long enough for all of its tensors",
            hint="the offsets are wrong; convert the model again",
        )
    whole = [t.name for t in header.tensors if t.start + t.nbytes <= file.size]
    raise CheckpointError(*cut_short(file, header.end, whole, len(header.tensors)))


def _problems(file: str, header: GgufHeader) -> Iterator[Problem]:
    yield from _overlaps(file, header)
    promised = header.integer("split.tensors.count")
    parts = header.integer("split.count") or 1
    if promised is not None and parts == 1 and promised != len(header.tensors):
        yield Problem(
            f"{len(header.tensors):,} of {promised:,} tensors are present",
            hint="convert the model again",
            file=file,
            severity=Severity.ERROR,
        )
    if parts == 1:
        yield from _absent_blocks(file, header)


def _overlaps(file: str, header: GgufHeader) -> Iterator[Problem]:
    ordered = sorted(header.tensors, key=lambda tensor: (tensor.start, tensor.nbytes))
    shared = [
        f"{a.name} and {b.name}" for a, b in pairwise(ordered) if a.start + a.nbytes > b.start
    ]
    if shared:
        yield Problem(
            f"tensors share bytes: {listed(shared, 2)}",
            hint="the offsets are wrong; convert the model again",
            file=file,
            severity=Severity.ERROR,
        )


def _absent_blocks(file: str, header: GgufHeader) -> Iterator[Problem]:
    """Notice a transformer block of which no tensor is there."""
    matches = (re.match(r"blk\.(\d{1,6})\.", tensor.name) for tensor in header.tensors)
    numbers = {int(match[1]) for match in matches if match}
    if not numbers:
        return
    architecture = header.text("general.architecture") or ""
    count = header.integer(f"{architecture}.block_count") or 0
    last = max(max(numbers) + 1, min(count, 100_000))
    absent = [number for number in range(last) if number not in numbers]
    if absent:
        yield Problem(
            f"blocks without any tensor: {listed(map(str, absent), 8)} of {last:,}",
            hint="the conversion lost them; convert the model again",
            file=file,
            severity=Severity.ERROR,
        )
