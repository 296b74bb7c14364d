"""PyTorch files: a zip with a pickle and its storages, or, before 1.6, bare pickles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

from embcalc.checkpoints.base import RowBlock
from embcalc.checkpoints.messages import cut_short, shown, where
from embcalc.checkpoints.pickle_machine import MAX_PICKLE, ByteStream, PickleError, load
from embcalc.checkpoints.raw import Slice, row_blocks
from embcalc.checkpoints.state_dict import find_tensors
from embcalc.checkpoints.strided import strided_blocks
from embcalc.checkpoints.torch_objects import RefusedError, StoredTensor
from embcalc.checkpoints.zip_file import ZipFile, archive_names
from embcalc.core.files import File
from embcalc.core.findings import Problem
from embcalc.core.tables import TensorInfo
from embcalc.errors import CheckpointError

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_PROTOCOL = 1001


class PytorchCheckpoint:
    """One file that `torch.save` wrote.

    Raises:
        CheckpointError: it is broken, or its pickle asks for more than tensors.
        SourceError: it cannot be read.
    """

    format = "pytorch"
    unread: str | None = None
    metadata: Mapping[str, str] = {}

    def __init__(self, file: File, *, zipped: bool) -> None:
        self.label = where(file)
        self.files = (file.name,)
        reader = _Zipped(file) if zipped else _Legacy(file)
        found, self.problems = find_tensors(reader.value, file.name)
        if not found:
            raise CheckpointError(
                f"{where(file)} holds no tensors", hint="it may be the state of an optimizer only"
            )
        self._views = found
        self._places = reader.places(found)
        self._big_endian = reader.big_endian
        self.tensors: Mapping[str, TensorInfo] = {
            name: _info(name, view, file.name) for name, view in found.items()
        }

    problems: tuple[Problem, ...]

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream rows, from the place of the storage in the file."""
        tensor, view = self.tensors[name], self._views[name]
        wanted = range(tensor.rows) if rows is None else rows
        place = self._places.get(view.storage.key)
        if place is None:
            raise CheckpointError(
                f"the values of {shown(name)} are not in {self.label}",
                hint="save the model again with torch.save",
            )
        if view.contiguous:
            start = view.dtype.nbytes(view.offset)
            return row_blocks(place, start, tensor, wanted, big_endian=self._big_endian)
        return strided_blocks(
            place, view.offset, view.strides, tensor, wanted, big_endian=self._big_endian
        )


def _info(name: str, view: StoredTensor, file: str) -> TensorInfo:
    info = TensorInfo(
        name=name, shape=view.shape, dtype=view.dtype, file=file, nbytes=0, storage=view.identity
    )
    return TensorInfo(
        name=name,
        shape=view.shape,
        dtype=view.dtype,
        file=file,
        nbytes=view.dtype.nbytes(info.scalars),
        storage=f"{file}:{view.identity}",
    )


def refuse(file: File, error: ValueError) -> CheckpointError:
    """Word an error of the pickle in a file."""
    if isinstance(error, RefusedError):
        return CheckpointError(
            f"{where(file)} asks for {str(error)[:200]}, which is no tensor: refused, not executed",
            hint="save its state_dict() alone, or convert it to safetensors where you trust it",
        )
    return CheckpointError(
        f"{where(file)} holds a broken pickle: {error}",
        hint="it may be cut short or no PyTorch file: download it again",
    )


class _Zipped:
    """A zip of `archive/data.pkl` and `archive/data/0`, `1` and so on."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._archive = ZipFile(file)
        pickles = archive_names(self._archive.members, "data.pkl")
        if not pickles:
            raise CheckpointError(
                f"{where(file)} holds no data.pkl: no PyTorch file",
                hint="torch.save writes one; unpack an archive of other files first",
            )
        self._root = pickles[0].removesuffix("data.pkl")
        if f"{self._root}constants.pkl" in self._archive.members:
            raise CheckpointError(
                f"{where(file)} is a TorchScript program, which is code: refused, not executed",
                hint="save its state_dict() instead",
            )
        order = f"{self._root}byteorder"
        self.big_endian = (
            order in self._archive.members and self._archive.read(order, 64).strip() == b"big"
        )
        try:
            self.value: Any = load(BytesIO(self._archive.read(pickles[0], MAX_PICKLE))).value
        except (PickleError, RefusedError) as error:
            raise refuse(file, error) from error

    def places(self, views: Mapping[str, StoredTensor]) -> dict[str, File]:
        """Find each storage, and check that it is as long as the pickle says."""
        places: dict[str, File] = {}
        for name, view in views.items():
            key = view.storage.key
            member = f"{self._root}data/{key}"
            if key in places or not view.storage.nbytes:
                continue
            if member not in self._archive.members:
                raise CheckpointError(
                    f"{where(self._file)} lacks {shown(member)}, which holds {shown(name)}",
                    hint="download it again",
                )
            if self._archive.size(member) < view.storage.nbytes:
                raise CheckpointError(
                    f"{where(self._file)}: {shown(member)} has {self._archive.size(member):,} of"
                    f" {view.storage.nbytes:,} bytes that {shown(name)} needs",
                    hint="download it again",
                )
            places[key] = self._archive.range(member)
        return places


class _Legacy:
    """Five pickles, then each storage with its length before it."""

    big_endian = False

    def __init__(self, file: File) -> None:
        self._file = file
        self._keys: object = None
        stream = ByteStream(file)
        try:
            first = load(stream).value
            self.value: Any = first
            if type(first) is int and first == LEGACY_MAGIC:
                self._check(load(stream).value, load(stream).value)
                loaded = load(stream)
                self.value, self._storages = loaded.value, loaded.storages
                self._keys = load(stream).value
        except (PickleError, RefusedError) as error:
            raise refuse(file, error) from error
        self._data = stream.tell()

    def _check(self, protocol: object, system: object) -> None:
        if protocol != LEGACY_PROTOCOL:
            raise CheckpointError(
                f"{where(self._file)} is of torch's file protocol {protocol!r:.20}",
                hint="load it with the torch that wrote it, and save it again",
            )
        if isinstance(system, dict):
            self.big_endian = system.get("little_endian") is False

    def places(self, views: Mapping[str, StoredTensor]) -> dict[str, File]:
        """Walk over the storages in the order of their keys."""
        if not isinstance(self._keys, list):
            return {}
        places: dict[str, File] = {}
        at = self._data
        for key in self._keys:
            storage = self._storages.get(str(key))
            if storage is None:
                raise CheckpointError(
                    f"{where(self._file)} stores {shown(str(key))} for nothing",
                    hint="save the model again with torch.save",
                )
            places[storage.key] = Slice(self._file, at + 8, storage.nbytes)
            at += 8 + storage.nbytes
        self._check_end(at, views)
        return places

    def _check_end(self, end: int, views: Mapping[str, StoredTensor]) -> None:
        if end <= self._file.size:
            return
        ends, at = {}, self._data
        for key in map(str, self._keys if isinstance(self._keys, list) else ()):
            at += 8 + self._storages[key].nbytes
            ends[key] = at
        whole = [name for name, view in views.items() if ends[view.storage.key] <= self._file.size]
        raise CheckpointError(*cut_short(self._file, end, whole, len(views)))
