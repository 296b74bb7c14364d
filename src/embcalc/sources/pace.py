"""Answers that come too slowly: a server that sends a byte now and then is never silent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from typing import TypeVar

PATIENT = 3
"""Times the timeout for silence that an answer may take to begin, and that its speed is taken
over."""
LEAST_RATE = 1000
"""Bytes per second below which an answer is as good as none."""

T = TypeVar("T")


class StalledError(OSError):
    """An answer that comes in drops."""


@contextmanager
def entered_within(seconds: float, opened: AbstractContextManager[T]) -> Iterator[T]:
    """Enter a context in another thread and wait for it so long at most.

    The timeouts of HTTP libraries begin anew with each byte, also within the head of an answer,
    and with each redirect.

    Raises:
        TimeoutError: it took longer; the thread closes what it gets, should it ever get it.
    """
    entered: Future[T] = Future()
    abandoned = Event()

    def enter() -> None:
        try:
            entered.set_result(opened.__enter__())
        except BaseException as error:  # handed to the thread that waits for it
            entered.set_exception(error)
            return
        if abandoned.is_set():
            opened.__exit__(None, None, None)

    Thread(target=enter, daemon=True, name="embcalc-ask").start()
    try:
        value = entered.result(seconds)
    except BaseException:
        abandoned.set()
        raise
    try:
        yield value
    finally:
        opened.__exit__(None, None, None)


def paced(pieces: Iterator[bytes], seconds: float) -> Iterator[bytes]:
    """Pass pieces on as long as they bring `LEAST_RATE`, taken over so many seconds.

    Raises:
        StalledError: they bring less.
    """
    since = time.monotonic()
    got = 0
    for piece in pieces:
        got += len(piece)
        yield piece
        passed = time.monotonic() - since
        if passed < seconds:
            continue
        if got < LEAST_RATE * passed:
            raise StalledError(f"stalls: {got:,} bytes came in {passed:,.1f} seconds")
        since, got = time.monotonic(), 0
