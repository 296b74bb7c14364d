"""Files on this machine."""

from __future__ import annotations

import errno
import mmap
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any
from weakref import finalize

from embcalc.core.files import Buffer, File
from embcalc.core.inputs import remember
from embcalc.errors import SourceError

MAX_DEPTH = 3
"""Folders below the model's own that are looked into."""
_ALWAYS_FILES = frozenset(
    {
        "config.json", "generation_config.json", "adapter_config.json",
        "processor_config.json", "preprocessor_config.json",
        "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
        "added_tokens.json", "chat_template.jinja", "tokenizer.model", "vocab.json", "vocab.txt",
        "merges.txt", "model.safetensors", "pytorch_model.bin", "adapter_model.safetensors",
        "model.safetensors.index.json", "pytorch_model.bin.index.json",
    }
)  # fmt: skip
"""Names that are listed even where a folder bears them, so that reading it says what is wrong."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)

_LINE = 64
"""Bytes of a cache line."""


class LocalFile:
    """A file of the local file system.

    Raises:
        SourceError: there is none, or something else bears its name. Opening a pipe would wait
            for whoever writes to it.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self.name = name
        remember(os.path.realpath(path))
        try:
            found = path.stat()
        except OSError as error:
            raise _unreadable(path, error) from error
        if not stat.S_ISREG(found.st_mode):
            raise _no_file(path, found.st_mode)
        self.size = found.st_size

    @property
    def local_path(self) -> str:
        """The path."""
        return str(self._path)

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """Read a byte range."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(start)
                return stream.read() if length is None else stream.read(length)
        except OSError as error:
            raise _unreadable(self._path, error) from error

    def stream(self, start: int, length: int, block: int) -> Iterator[Buffer]:
        """Yield a byte range in pieces; each is there until the next is asked for."""
        end = start + length
        if end > self.size:
            raise SourceError(f"{self._path} ends at byte {self.size:,}; {end:,} are needed")
        if length == 0:
            return
        try:
            with self._path.open("rb", buffering=0) as stream:
                yield from _pieces(stream, range(start, end, block), end)
        except _CutShortError as error:
            raise SourceError(
                f"{self._path} was cut short while it was read: byte {error.needed:,} is gone",
                hint="something writes to it; wait until that is done",
            ) from None
        except OSError as error:
            raise _unreadable(self._path, error) from error


class _CutShortError(Exception):
    """The file ends before a byte that was there when it was opened."""

    def __init__(self, needed: int) -> None:
        super().__init__(needed)
        self.needed = needed


def _pieces(stream: FileIO, starts: range, end: int) -> Iterator[Buffer]:
    """Yield pieces read one after the other into one buffer, which stays in the cache.

    Measured on two cores over 1 GB of BF16 in the page cache: a map whose pages are dropped behind
    takes as long on one thread (0.24 s of processor time either way, each byte touched once), but
    the pass of inspect on two threads took 0.43 s from a buffer and 0.50 s from a map: faults on
    its pages and giving them back hold up the other thread. And a file that shrinks ends a read
    early, where it kills a process that maps it.

    A piece lies at the same place of a page as in the file, rounded down to a cache line: copies
    to 1, 8 or 16 bytes behind that place took more than three times as long (AMD), to 32 no more.
    """
    size = min(starts.step, end - starts.start)
    buffer = _page_aligned(size + mmap.PAGESIZE)
    stream.seek(starts.start)
    for at in starts:
        first = at % mmap.PAGESIZE // _LINE * _LINE
        stop = min(at + starts.step, end)
        piece = buffer[first : first + stop - at]
        filled = 0
        while filled < len(piece):
            count = stream.readinto(piece[filled:])
            if not count:
                raise _CutShortError(stop)
            filled += count
        yield piece.toreadonly()


_KEPT = 8
"""Buffers that are kept for later: two of each thread that compares two tables."""
_LARGEST_KEPT = 1 << 22
_free: deque[Any] = deque(maxlen=_KEPT)
"""Buffers, numpy arrays, that nobody looks at any more."""


def _page_aligned(size: int) -> memoryview:
    """Memory that is used again as soon as no view of it is left.

    New memory comes from the system in pages that are zeroed at their first touch. A pass over 1 GB
    in shares of 32 MiB took 0.13 s on two threads with a new buffer for each share, else 0.08 s.
    """
    import numpy as np

    try:
        raw = _free.pop()
    except IndexError:
        raw = np.empty(0, np.uint8)
    if len(raw) < size + mmap.PAGESIZE:
        raw = np.empty(size + mmap.PAGESIZE, np.uint8)
    skipped = -raw.ctypes.data % mmap.PAGESIZE
    view = raw[skipped : skipped + size]
    # All memoryviews, and all arrays over them, keep this one alive.
    finalize(view, _give_back, raw).atexit = False
    return memoryview(view.data)


def _give_back(raw: Any) -> None:  # noqa: ANN401 - numpy is imported where it is needed
    if len(raw) <= _LARGEST_KEPT:
        _free.append(raw)


class LocalFolder:
    """A folder of the local file system."""

    def __init__(self, path: Path, label: str, depth: int = MAX_DEPTH) -> None:
        self._path = path
        self._depth = depth
        self.label = label
        self._names: tuple[str, ...] | None = None

    def names(self) -> tuple[str, ...]:
        """Names of all files, hidden ones left out."""
        if self._names is None:
            try:
                self._names = tuple(sorted(_walk(self._path, "", self._depth)))
            except OSError as error:
                raise _unreadable(self._path, error) from error
        return self._names

    def expect(self, names: Iterable[str]) -> None:
        """Do nothing: a disk needs no head start."""

    def open(self, name: str) -> File:
        """Open one file."""
        return LocalFile(self._path / name, name)


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if not _is_folder(entry):
                yield f"{prefix}{entry.name}"
                continue
            if entry.name in _ALWAYS_FILES:
                yield f"{prefix}{entry.name}"
            if depth and not _leads_back(entry):
                yield from _below(folder / entry.name, f"{prefix}{entry.name}/", depth - 1)


def _below(folder: Path, prefix: str, depth: int) -> Iterator[str]:
    """Walk a folder below the model's own; one that may not be read holds nothing for us."""
    try:
        yield from _walk(folder, prefix, depth)
    except PermissionError:
        return


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _leads_back(entry: os.DirEntry[str]) -> bool:
    """Whether a link leads to a folder that it lies in."""
    if not entry.is_symlink():
        return False
    holding = Path(os.path.realpath(Path(entry.path).parent))
    return Path(os.path.realpath(entry.path)) in (holding, *holding.parents)


def _no_file(path: Path, mode: int) -> SourceError:
    kind = next((name for test, name in _KINDS if test(mode)), "no regular file")
    return SourceError(f"{path} is {kind}, not a file", hint="put the file itself in its place")


def _unreadable(path: Path, error: OSError) -> SourceError:
    if error.errno == errno.ELOOP:
        return SourceError(
            f"{path} is a link that leads back to itself", hint="put the file itself in its place"
        )
    if path.is_symlink() and not path.exists():
        return SourceError(
            f"{path} is a link to {path.readlink()}, which does not exist",
            hint="a file of the hub's cache was deleted; download the model again",
        )
    denied = error.errno in (errno.EACCES, errno.EPERM)
    hint = "you may not read it: check its permissions and those of its folder" if denied else None
    return SourceError(f"cannot read {path}: {error.strerror or error}", hint=hint)
