"""Members of a zip archive as byte ranges of its file."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

from embcalc.checkpoints.messages import shown, where
from embcalc.core.files import Buffer, File
from embcalc.errors import CheckpointError, SourceError

MAX_DIRECTORY = 1 << 27
"""Bytes read at once while the directory of an archive is looked for."""
_LOCAL_HEADER = struct.Struct("<4s22xHH")


class _Seekable(io.RawIOBase):
    """A file as `zipfile` wants it."""

    def __init__(self, file: File) -> None:
        super().__init__()
        self._file = file
        self._at = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        if base + offset < 0:
            raise OSError("negative seek")
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        length = self._file.size - self._at if size is None or size < 0 else size
        if length > MAX_DIRECTORY:
            raise zipfile.BadZipFile(f"a directory of {length:,} bytes")
        data = self._file.read(self._at, max(0, length))
        self._at += len(data)
        return data


class ZipFile:
    """A zip archive.

    Raises:
        CheckpointError: its directory cannot be read.
    """

    def __init__(self, file: File) -> None:
        self._file = file
        try:
            self._archive = zipfile.ZipFile(_Seekable(file))
        except (
            zipfile.BadZipFile,
            ValueError,
            OSError,
            struct.error,
            NotImplementedError,
        ) as error:
            raise self._broken(f"its directory cannot be read ({error})") from error
        self.members = {info.filename: info for info in self._archive.infolist()}

    def _broken(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"{where(self._file)} is a broken zip archive: {what}",
            hint="it may be cut short: download it again",
        )

    def size(self, name: str) -> int:
        """Bytes of a member, unpacked, as the directory says."""
        return self.members[name].file_size

    def read(self, name: str, limit: int) -> bytes:
        """Unpack a whole small member.

        Raises:
            CheckpointError: it is broken, or longer than `limit` bytes.
        """
        data = b"".join(self._unpacked(name, 0, limit + 1, 1 << 20))
        if len(data) > limit:
            raise self._broken(f"{shown(name)} holds more than {limit:,} bytes")
        return data

    def range(self, name: str) -> File:
        """Give a member as a file of its own; nothing of it is read yet.

        Raises:
            CheckpointError: its place cannot be found.
        """
        return Member(self, self._file, name)

    def start(self, name: str) -> int | None:
        """Offset in the archive of a member's first byte; None where it is compressed.

        Raises:
            CheckpointError: the member lies outside of the file.
        """
        info = self.members[name]
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            return None
        local = self._file.read(info.header_offset, _LOCAL_HEADER.size)
        if len(local) < _LOCAL_HEADER.size or local[:4] != b"PK\x03\x04":
            raise self._broken(f"{shown(name)} is not where the directory says")
        _, name_length, extra_length = _LOCAL_HEADER.unpack(local)
        start = info.header_offset + _LOCAL_HEADER.size + name_length + extra_length
        if start + info.file_size > self._file.size:
            raise self._broken(f"{shown(name)} ends past the end of the file")
        return int(start)

    def _unpacked(self, name: str, start: int, length: int, block: int) -> Iterator[bytes]:
        """Unpack from the front, in pieces, and leave out what lies before `start`."""
        try:
            with self._archive.open(name) as member:
                while start > 0:
                    passed = len(member.read(min(start, block)))
                    if not passed:
                        return
                    start -= passed
                while length > 0 and (piece := member.read(min(length, block))):
                    length -= len(piece)
                    yield piece
        except _BROKEN_MEMBER as error:
            raise self._broken(f"{shown(name)} cannot be unpacked ({error})") from error


def _broken_member() -> tuple[type[Exception], ...]:
    import zlib

    return (
        zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError,
        OSError,
    )  # fmt: skip


_BROKEN_MEMBER = _broken_member()


class Member:
    """A member of an archive as a file."""

    def __init__(self, archive: ZipFile, file: File, name: str) -> None:
        self._archive = archive
        self._file = file
        self.name = name
        self.size = archive.size(name)
        self._start = archive.start(name)
        self.local_path: str | None = f"{where(file)}:{name}"

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """Read a byte range."""
        wanted = max(0, min(self.size - start, self.size if length is None else length))
        if self._start is not None:
            return self._file.read(self._start + start, wanted)
        return b"".join(self._archive._unpacked(self.name, start, wanted, 1 << 20))

    def stream(self, start: int, length: int, block: int) -> Iterator[Buffer]:
        """Yield a byte range in pieces."""
        if start + length > self.size:
            raise SourceError(
                f"{self.local_path} ends at byte {self.size:,}", hint="download it again"
            )
        if self._start is not None:
            yield from self._file.stream(self._start + start, length, block)
            return
        rest = bytearray()
        for piece in self._archive._unpacked(self.name, start, length, block):
            rest += piece
            while len(rest) >= block:
                yield bytes(rest[:block])
                del rest[:block]
        if rest:
            yield bytes(rest)


def archive_names(members: dict[str, Any], leaf: str) -> list[str]:
    """List the members of a name in any folder, the shortest path first."""
    return sorted(
        (name for name in members if name == leaf or name.endswith(f"/{leaf}")),
        key=lambda name: (name.count("/"), len(name)),
    )
