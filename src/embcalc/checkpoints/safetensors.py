"""safetensors: u64 little-endian header length, JSON header, data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from embcalc.checkpoints.base import RowBlock, TensorHeaders
from embcalc.checkpoints.messages import cut_short, where
from embcalc.checkpoints.raw import row_blocks
from embcalc.checkpoints.safetensors_header import Header, parse_header
from embcalc.checkpoints.sniff import MAX_SAFETENSORS_HEADER
from embcalc.core.dtypes import BY_NAME
from embcalc.core.files import File
from embcalc.core.findings import Problem
from embcalc.core.tables import TensorInfo
from embcalc.errors import CheckpointError


class SafetensorsCheckpoint:
    """One .safetensors file.

    Raises:
        CheckpointError: the reference parser would refuse it.
        SourceError: it cannot be read.
    """

    format = "safetensors"
    problems: tuple[Problem, ...] = ()
    unread: str | None = None

    def __init__(self, file: File) -> None:
        self.label = where(file)
        self.files = (file.name,)
        self._file = file
        header, self._data = _read_header(file)
        self.metadata: Mapping[str, str] = header.metadata
        self._entries = header.entries
        self.tensors: Mapping[str, TensorInfo] = _Tensors(header, file.name)

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream rows."""
        tensor = self.tensors[name]
        wanted = range(tensor.rows) if rows is None else rows
        start = self._data + self._entries[name].data_offsets[0]
        return row_blocks(self._file, start, tensor, wanted)


class _Tensors(TensorHeaders):
    """Headers that become `TensorInfo` when asked for: few of 94,000 ever are."""

    def __init__(self, header: Header, file: str) -> None:
        self._entries = header.entries
        self._empty = header.empty
        self._file = file

    def __getitem__(self, name: str) -> TensorInfo:
        entry = self._entries[name]
        start, end = entry.data_offsets
        return TensorInfo(
            name=name,
            shape=entry.shape,
            dtype=BY_NAME[entry.dtype],
            file=self._file,
            nbytes=end - start,
        )

    def empty(self) -> list[str]:
        """Names of the tensors without scalars."""
        return list(self._empty)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _read_header(file: File) -> tuple[Header, int]:
    """Read and check the header; return it and the place of the first byte of data."""
    if file.size < 8:
        raise CheckpointError(
            f"{where(file)} is no safetensors file: {file.size} bytes hold no header",
            hint="download it again",
        )
    length = int.from_bytes(file.read(0, 8), "little")
    if length > MAX_SAFETENSORS_HEADER:
        raise CheckpointError(
            f"{where(file)} is no safetensors file: its first 8 bytes promise a header of"
            f" {length:,} bytes",
            hint=f"a header has at most {MAX_SAFETENSORS_HEADER:,} bytes",
        )
    if 8 + length > file.size:
        raise CheckpointError(
            f"{where(file)} is cut short inside its header: {file.size:,} bytes, and the header"
            f" alone needs {8 + length:,}",
            hint="download it again; no tensor is whole",
        )
    try:
        header = parse_header(file.read(8, length))
    except ValueError as error:
        raise CheckpointError(
            f"{where(file)} has a broken safetensors header: {error}",
            hint="the file was damaged, or written by a faulty program; download or write it again",
        ) from error
    _check_size(file, header, 8 + length)
    return header, 8 + length


def _check_size(file: File, header: Header, data: int) -> None:
    needed = data + header.data_bytes
    if file.size > needed:
        raise CheckpointError(
            f"{where(file)} has {file.size - needed:,} bytes more than its header describes",
            hint="safetensors refuses it; two files may have been joined: download it again",
        )
    if file.size < needed:
        whole = [
            name
            for name, entry in header.entries.items()
            if data + entry.data_offsets[1] <= file.size
        ]
        raise CheckpointError(*cut_short(file, needed, whole, len(header.entries)))
