"""The hub's cache on this machine: what lies there, and files that are put there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from huggingface_hub import constants

from embcalc.core.files import Buffer, File
from embcalc.sources.hub.repository import Repository
from embcalc.sources.hub.store import UnwritableError, cache_of, store
from embcalc.sources.keeping import KEEP, WATCH
from embcalc.sources.local import LocalFile
from embcalc.sources.names import is_safe
from embcalc.sources.notes import note
from embcalc.sources.ranged import MAX_WHOLE, refuse_beyond

COMMIT = re.compile(r"[0-9A-Za-z]{4,64}")
BLOCK = 1 << 20
"""Bytes written at once."""
SHOWN = 1 << 22
"""Bytes of a download above which a bar is shown."""


def cached_snapshot(repo: str, revision: str | None) -> Path | None:
    """The folder of the cache that holds a revision of a repository, or None.

    Reads the documented layout ("Understand caching" in the guide of huggingface_hub), because
    the functions that do so take a second to import: too long for an answer without network.
    """
    revision = revision or constants.DEFAULT_REVISION
    if not is_safe(revision):
        return None
    base = cache_of(repo)
    try:
        commit = (base / "refs" / revision).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        commit = revision
    snapshot = base / "snapshots" / commit
    return snapshot if COMMIT.fullmatch(commit) and snapshot.is_dir() else None


class CachedFile:
    """A file that is downloaded into the cache when it is first read.

    Where the cache cannot be written, it is read over the network.
    """

    def __init__(self, remote: File, repository: Repository, path: str) -> None:
        self.name = remote.name
        self._file = remote
        self._repository = repository
        self._path = path
        self._tried = False

    @property
    def size(self) -> int:
        """Bytes."""
        return self._file.size

    @property
    def local_path(self) -> str | None:
        """Where it lies once it was read."""
        return self._file.local_path

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """Read a byte range."""
        return self._downloaded().read(start, length)

    def stream(self, start: int, length: int, block: int) -> Iterator[Buffer]:
        """Yield a byte range in pieces."""
        return self._downloaded().stream(start, length, block)

    def _downloaded(self) -> File:
        if not self._tried:
            size = self._file.size
            if not KEEP.get():
                refuse_beyond(MAX_WHOLE, size, self._repository.label(self._path))
            try:
                place = store(self._repository, self._path, size, self._watched(size))
                self._file = LocalFile(place, self.name)
            except UnwritableError as error:
                if KEEP.get():
                    label = self._repository.label(self._path)
                    note(f"the hub's cache cannot be written ({error}); {label} is not stored")
            self._tried = True
        return self._file

    def _watched(self, size: int) -> Iterator[Buffer]:
        tell, done = WATCH.get(), 0
        for piece in self._file.stream(0, size, BLOCK):
            yield piece
            done += len(piece)
            if size > SHOWN:
                tell(self._path, done, size)
