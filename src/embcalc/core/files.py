"""What the readers need of a place that holds files: names, sizes, byte ranges.

`embcalc.sources` implements both protocols for local folders, hub repositories and other
addresses; readers and tokenizers see no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from embcalc.errors import LfsPointerError

Buffer = bytes | memoryview
_LFS = b"version https://git-lfs"
_LFS_SIZE = re.compile(rb"^size (\d{1,15})\s*$", re.MULTILINE)
_HTML = re.compile(rb"\s*(<!doctype|<html|<\?xml|<head)", re.IGNORECASE)
_HEAD = 1024
"""Bytes that a pointer, or the beginning of a page, fits into."""


class File(Protocol):
    """One file, opened for reading byte ranges."""

    @property
    def name(self) -> str:
        """Relative to the folder, with forward slashes."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def local_path(self) -> str | None:
        """Where it lies on this machine, or None for a remote file."""

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """Read bytes `[start, start + length)`, to the end when `length` is None.

        Returns fewer bytes only where the file ends first.

        Raises:
            SourceError: the place does not answer, or the file changed underneath.
        """

    def stream(self, start: int, length: int, block: int) -> Iterator[Buffer]:
        """Yield the bytes `[start, start + length)` in pieces of `block` bytes.

        The last may be shorter; each is valid until the next is asked for. Memory stays bounded
        whatever `length`.

        Raises:
            SourceError: as for `read`; also where the file ends before `start + length`.
        """


class Folder(Protocol):
    """A set of files that belong to one model."""

    @property
    def label(self) -> str:
        """The address as the user gave it."""

    def names(self) -> tuple[str, ...]:
        """Names of all files, sorted, relative, with forward slashes."""

    def open(self, name: str) -> File:
        """Open one file.

        Raises:
            SourceError: there is no such file, or it cannot be read.
        """

    def expect(self, names: Iterable[str]) -> None:
        """Take a hint: the beginnings of these files are read next, in this order.

        A remote folder fetches them side by side; what cannot be had is told when it is read.
        """


def read_small(folder: Folder, name: str) -> bytes | None:
    """Read a whole small file (a config, a tokenizer), or None where the folder has none."""
    return folder.open(name).read() if name in folder.names() else None


def is_lfs_pointer(content: bytes) -> bool:
    """Whether a Git LFS pointer stands in place of a file that begins so."""
    return content.startswith(_LFS)


def promised_size(pointer: bytes) -> str:
    """What a Git LFS pointer says of the file it stands for: a clause, "" where it says nothing."""
    size = _LFS_SIZE.search(pointer[:_HEAD])
    return f"; the real file has {int(size[1]):,} bytes" if size else ""


def lfs_pointer_error(name: str, pointer: bytes) -> LfsPointerError:
    """Word the error for a pointer in place of a text file."""
    return LfsPointerError(
        f"{name} is a Git LFS pointer, not the file itself{promised_size(pointer)}",
        hint="run 'git lfs pull', or download the file from the hub",
    )


def is_html(content: bytes) -> bool:
    """Whether a web page, or an XML answer, was saved in place of a file that begins so."""
    return _HTML.match(content[:_HEAD]) is not None
