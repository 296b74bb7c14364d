"""A pass over a table shared out among threads, with one answer whatever their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

from embcalc.core.progress import Progress
from embcalc.rows.select import RowReader

Share = TypeVar("Share")
Result = TypeVar("Result")

SHARE_BYTES = 32 << 20
"""Bytes of a share: done before a second thread has begun, and small beside a large table."""


def shares(rows: int, row_bytes: int, workers: int) -> list[range]:
    """Cut rows into ranges of about `SHARE_BYTES`; a single thread takes all at once.

    Many small shares keep all threads busy to the end, however unevenly they advance.
    """
    step = max(1, SHARE_BYTES // max(1, row_bytes)) if workers > 1 else max(1, rows)
    return [range(start, min(rows, start + step)) for start in range(0, rows, step)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPass:
    """How to read all rows of a table once."""

    stream: RowReader
    """Streams the rows of a share."""
    shares: Sequence[range]
    """All rows, in order."""
    workers: int = 1
    """Threads that read a share each."""


def in_threads(
    work: Callable[[Share], Result],
    parts: Sequence[Share],
    workers: int,
    stop: Callable[[], None] = lambda: None,
) -> list[Result]:
    """Do each part and give the results in the order of the parts.

    Kernels run without the lock of the interpreter. When a part fails or the user interrupts,
    parts not yet begun are given up, and `stop` is called once to tell those that run: all are
    waited for.
    """
    workers = min(workers, len(parts))
    if workers <= 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(workers) as pool:
        try:
            return list(pool.map(work, parts))
        except BaseException:
            stop()
            raise


@dataclass(slots=True)
class Meter:
    """Adds up the rows that all threads have done."""

    label: str
    rows: int
    nbytes: int
    progress: Progress
    done: int = 0
    stopped: bool = False
    """Set when the run ends early; threads with long parts give up at their next block."""
    lock: Lock = field(default_factory=Lock)

    def stop(self) -> None:
        """Tell threads with long parts to give up."""
        self.stopped = True

    def add(self, rows: int) -> None:
        """Report rows done."""
        with self.lock:
            self.done += rows
            self.progress(self.label, self.nbytes * self.done // max(1, self.rows), self.nbytes)
