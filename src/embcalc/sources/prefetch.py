"""Fetching the pieces of a long range side by side, in order, with bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Event, Thread

WORKERS = 4
"""Connections at a time."""

Job = tuple[Future[bytes], int, int]


def side_by_side(
    fetch: Callable[[int, int, Event], bytes],
    ranges: Iterable[tuple[int, int]],
    workers: int = WORKERS,
) -> Generator[bytes, None, None]:
    """Yield `fetch(start, length, stop)` for each range, in order, with `workers` threads ahead.

    At most `workers` + 1 pieces are held at a time. When the consumer stops early, by an error or
    Ctrl-C, `stop` is set and the threads end by themselves; they are daemons, because a thread
    that waits for a silent server must not keep the program from ending.
    """
    stop = Event()
    jobs: SimpleQueue[Job | None] = SimpleQueue()
    pending: deque[Future[bytes]] = deque()
    todo = iter(ranges)
    threads = [
        Thread(target=_work, args=(fetch, jobs, stop), daemon=True, name=f"embcalc-fetch-{number}")
        for number in range(workers)
    ]
    for thread in threads:
        thread.start()
    try:
        for start, length in todo:
            job: Future[bytes] = Future()
            pending.append(job)
            jobs.put((job, start, length))
            if len(pending) >= workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        stop.set()
        for _ in threads:
            jobs.put(None)


def _work(
    fetch: Callable[[int, int, Event], bytes], jobs: SimpleQueue[Job | None], stop: Event
) -> None:
    while (job := jobs.get()) is not None and not stop.is_set():
        future, start, length = job
        try:
            future.set_result(fetch(start, length, stop))
        except BaseException as error:  # handed to the thread that waits for it
            future.set_exception(error)
