"""A remote file that is read by byte ranges: read-ahead for headers, parallel pieces for tables."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Protocol

from embcalc.core.files import Buffer
from embcalc.errors import SourceError
from embcalc.sources.prefetch import side_by_side
from embcalc.sources.retry import Patience, TransientError

PIECE = 1 << 22
"""Bytes of one request of a long range."""
READ_AHEAD = 1 << 14
"""Bytes that a small read fetches at least: most safetensors headers fit."""
MAX_READ_AHEAD = 1 << 20
"""Bytes that a small read fetches at most, reached by reads that follow one another."""


class Origin(Protocol):
    """Where the bytes of one file come from: one attempt at a time."""

    @property
    def label(self) -> str:
        """What messages call the file."""

    @property
    def parallel(self) -> bool:
        """Whether several ranges may be asked for at once."""

    def size(self) -> int:
        """Bytes of the file.

        Raises:
            SourceError: it cannot be had.
        """

    def chunks(self, start: int, length: int) -> Iterator[bytes]:
        """Yield the bytes `[start, start + length)`, which lie inside the file, as they come.

        Never yields more than `length` bytes.

        Raises:
            TransientError: the rest may come on another try; also by simply ending early.
            SourceError: it will not.
        """


class RangedFile:
    """A file whose bytes are fetched when they are asked for, and never stored on disk."""

    local_path: str | None = None

    def __init__(self, origin: Origin, name: str, size: int | None = None) -> None:
        self.name = name
        self._origin = origin
        self._size = size
        self._at = 0
        self._ahead = b""
        self._step = READ_AHEAD

    @property
    def size(self) -> int:
        """Bytes; asked from the server where the listing does not say."""
        if self._size is None:
            self._size = self._origin.size()
        return self._size

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """Read a byte range; small ones from a window that is fetched a little further."""
        end = self.size if length is None else min(start + length, self.size)
        if end <= start:
            return b""
        held = self._held(start, end)
        if held is not None:
            return held
        known = self._tail(start)
        begin = start + len(known)
        fetch = end - begin
        if end - start < MAX_READ_AHEAD:
            fetch = min(max(fetch, self._next_step(start)), self.size - begin)
            self._at, self._ahead = start, known + self._fetch(begin, fetch)
            return self._ahead[: end - start]
        return known + b"".join(self._pieces(begin, fetch, PIECE))

    def stream(self, start: int, length: int, block: int) -> Iterator[Buffer]:
        """Yield a byte range in blocks, from larger pieces fetched ahead in parallel."""
        end = start + length
        if end > self.size:
            raise SourceError(
                f"{self._origin.label} ends at byte {self.size:,}; {end:,} are needed",
                hint="the upload is incomplete, or its header is wrong",
            )
        per_piece = max(1, PIECE // block) * block
        for piece in self._pieces(start, length, per_piece):
            view = memoryview(piece)
            for at in range(0, len(view), block):
                yield view[at : at + block]

    def _held(self, start: int, end: int) -> bytes | None:
        offset = start - self._at
        if offset < 0 or end > self._at + len(self._ahead):
            return None
        return self._ahead[offset : offset + end - start]

    def _tail(self, start: int) -> bytes:
        """What the window already holds from `start` on."""
        offset = start - self._at
        return self._ahead[offset:] if 0 <= offset < len(self._ahead) else b""

    def _next_step(self, start: int) -> int:
        """Grow the window for reads that follow one another, shrink it for jumps."""
        follows = bool(self._ahead) and self._at <= start <= self._at + len(self._ahead)
        self._step = min(self._step * 2, MAX_READ_AHEAD) if follows else READ_AHEAD
        return self._step

    def _pieces(self, start: int, length: int, piece: int) -> Iterator[bytes]:
        end = start + length
        ranges = [(at, min(piece, end - at)) for at in range(start, end, piece)]
        if len(ranges) > 1 and self._origin.parallel:
            yield from side_by_side(self._fetch, ranges)
            return
        for at, size in ranges:
            yield self._fetch(at, size)

    def _fetch(self, start: int, length: int, stop: Event | None = None) -> bytes:
        """Fetch a whole range, resuming where a connection breaks.

        Raises:
            SourceError: the bytes cannot be had; where `stop` is set, whatever is missing.
        """
        patience = Patience() if stop is None else Patience(sleep=stop.wait)
        got = bytearray()
        while len(got) < length:
            try:
                self._attempt(start, length, got, patience, stop)
            except TransientError as error:
                patience.after(error)
        return bytes(got)

    def _attempt(
        self, start: int, length: int, got: bytearray, patience: Patience, stop: Event | None
    ) -> None:
        # The answer is read to its end even when all bytes are there: only then can its connection
        # serve the next range.
        for chunk in self._origin.chunks(start + len(got), length - len(got)):
            got += chunk
            patience.progress()
            if stop is not None and stop.is_set():
                raise SourceError(f"{self._origin.label}: reading was stopped")
        if len(got) < length:
            raise TransientError(
                f"the connection broke at byte {start + len(got):,} of {self._origin.label}",
                hint="check the network and try again",
            )
