"""A remote file that is read by byte ranges: read-ahead for headers, parallel pieces for tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import Event, Lock, Thread
from typing import Protocol

from embcalc.core.files import Buffer, File
from embcalc.errors import SourceError
from embcalc.sources.prefetch import side_by_side
from embcalc.sources.retry import Patience, TransientError

PIECE = 1 << 22
"""Bytes of one request of a long range."""
READ_AHEAD = 1 << 14
"""Bytes that a small read fetches at least: most safetensors headers fit."""
MAX_READ_AHEAD = 1 << 20
"""Bytes that a small read fetches at most, reached by reads that follow one another."""
MAX_WHOLE = 100_000_000
"""Bytes of a file that is read whole: three times the largest tokenizer.json known."""
HEADS_AT_A_TIME = 8
"""Connections that fetch the headers of a sharded checkpoint."""


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


class _Windows:
    """The last few parts of a file that were read: its head, its tail, where a reader stands."""

    KEPT = 3

    def __init__(self) -> None:
        self._parts: list[tuple[int, bytes]] = []
        self._step = READ_AHEAD

    def held(self, start: int, end: int) -> bytes | None:
        """The bytes `[start, end)` where one window has all of them."""
        for at, data in self._parts:
            if at <= start and end <= at + len(data):
                return data[start - at : end - at]
        return None

    def known(self, start: int) -> bytes:
        """What the windows hold from `start` on, which may be nothing."""
        parts = (data[start - at :] for at, data in self._parts if at <= start <= at + len(data))
        return max(parts, key=len, default=b"")

    def step(self, start: int) -> int:
        """Bytes to fetch at least: more for reads that follow one another, few after a jump."""
        at, data = self._parts[-1] if self._parts else (0, b"")
        follows = bool(data) and at <= start <= at + len(data)
        self._step = min(self._step * 2, MAX_READ_AHEAD) if follows else READ_AHEAD
        return self._step

    def add(self, at: int, data: bytes) -> None:
        """Hold a further part; the oldest goes."""
        self._parts = [*self._parts[1 - self.KEPT :], (at, data)]


class RangedFile:
    """A file whose bytes are fetched when they are asked for, and never stored on disk."""

    local_path: str | None = None

    def __init__(self, origin: Origin, name: str, size: int | None = None) -> None:
        self.name = name
        self._origin = origin
        self._size = size
        self._windows = _Windows()
        self._lock = Lock()
        self._failure: SourceError | None = None

    @property
    def size(self) -> int:
        """Bytes; asked from the server where the listing does not say."""
        if self._size is None:
            self._size = self._origin.size()
        return self._size

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """Read a byte range; small ones from a window that is fetched a little further."""
        if length is None:
            refuse_beyond(MAX_WHOLE, self.size, self._origin.label)
        end = self.size if length is None else min(start + length, self.size)
        if end <= start:
            return b""
        if end - start > MAX_READ_AHEAD:
            return b"".join(self._pieces(start, end - start, PIECE))
        with self._lock:
            return self._read_window(start, end)

    def warm(self) -> None:
        """Fetch the head; a failure is raised when the head is read."""
        with self._lock:
            try:
                self._read_window(0, min(1, self.size))
            except SourceError as error:
                self._failure = error

    def _read_window(self, start: int, end: int) -> bytes:
        if self._failure is not None:
            raise self._failure
        held = self._windows.held(start, end)
        if held is not None:
            return held
        known = self._windows.known(start)
        begin = start + len(known)
        fetch = min(max(end - begin, self._windows.step(start)), self.size - begin)
        data = known + self._fetch(begin, fetch)
        self._windows.add(start, data)
        return data[: end - start]

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
            patience.progress(len(chunk))
            if stop is not None and stop.is_set():
                raise SourceError(f"{self._origin.label}: reading was stopped")
        if len(got) < length:
            raise TransientError(
                f"the connection broke at byte {start + len(got):,} of {self._origin.label}",
                hint="check the network and try again",
            )


def refuse_beyond(limit: int, size: int, label: str) -> None:
    """Refuse to read a file whole that is larger than any that has to be.

    Raises:
        SourceError: it is.
    """
    if size > limit:
        raise SourceError(
            f"{label} has {size:,} bytes; configs, tokenizers and indexes are read up to {limit:,}",
            hint="is it the right file? none that large is known",
        )


def warm(files: Iterable[File], workers: int = HEADS_AT_A_TIME) -> None:
    """Begin to fetch the heads of remote files side by side; whoever reads one waits for it."""
    todo = [file for file in files if isinstance(file, RangedFile)]
    queue = iter(todo)
    lock = Lock()

    def work() -> None:
        while True:
            with lock:
                file = next(queue, None)
            if file is None:
                return
            file.warm()

    for _ in range(min(workers, len(todo))):
        Thread(target=work, daemon=True, name="embcalc-warm").start()
