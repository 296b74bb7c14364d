"""safetensors: u64 little-endian header length, JSON header, data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import msgspec
import numpy as np

from embcalc.checkpoints.base import BLOCK_BYTES, RowBlock
from embcalc.core.decode import CARRIERS
from embcalc.core.dtypes import BY_NAME
from embcalc.core.files import File
from embcalc.core.findings import Problem
from embcalc.core.tables import TensorInfo
from embcalc.errors import CheckpointError

MAX_HEADER = 100_000_000


class _Entry(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class SafetensorsCheckpoint:
    """One .safetensors file."""

    format = "safetensors"
    problems: tuple[Problem, ...] = ()

    def __init__(self, file: File) -> None:
        self.label = file.local_path or file.name
        self.files = (file.name,)
        self._file = file
        header, self._data = _header(file)
        metadata = header.pop("__metadata__", None)
        self.metadata: Mapping[str, str] = (
            msgspec.json.decode(metadata, type=dict[str, str]) if metadata else {}
        )
        entries = {name: msgspec.json.decode(raw, type=_Entry) for name, raw in header.items()}
        self._offsets = {name: entry.data_offsets[0] for name, entry in entries.items()}
        self.tensors: Mapping[str, TensorInfo] = {
            name: TensorInfo(
                name=name,
                shape=tuple(entry.shape),
                dtype=BY_NAME[entry.dtype],
                file=file.name,
                nbytes=entry.data_offsets[1] - entry.data_offsets[0],
            )
            for name, entry in entries.items()
        }

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream rows."""
        tensor = self.tensors[name]
        wanted = range(tensor.rows) if rows is None else rows
        carrier = np.dtype(CARRIERS[tensor.dtype.name])
        row_bytes = tensor.dtype.nbytes(tensor.width)
        per_block = max(1, BLOCK_BYTES // max(1, row_bytes))
        start = self._data + self._offsets[name] + wanted.start * row_bytes
        row = wanted.start
        for piece in self._file.stream(start, len(wanted) * row_bytes, per_block * row_bytes):
            values = np.frombuffer(piece, dtype=carrier).reshape(-1, prod(tensor.shape[1:]))
            yield RowBlock(row, values, tensor.dtype)
            row += len(values)


def _header(file: File) -> tuple[dict[str, msgspec.Raw], int]:
    length = int.from_bytes(file.read(0, 8), "little")
    if length > MAX_HEADER or length + 8 > file.size:
        raise CheckpointError(
            f"{file.local_path or file.name} is no safetensors file",
            hint="its first 8 bytes give no valid header length",
        )
    try:
        header = msgspec.json.decode(file.read(8, length), type=dict[str, msgspec.Raw])
    except msgspec.DecodeError as error:
        raise CheckpointError(f"{file.name} has a broken header: {error}") from error
    return header, 8 + length
