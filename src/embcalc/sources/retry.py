"""Trying again: how often, how long to wait, and when to give up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from embcalc.errors import UnreachableError

FIRST_WAIT = 0.5
"""Seconds before the second try; each further wait is twice as long."""
LONGEST_WAIT = 8.0
"""Seconds that embcalc waits at most, also where the server asks for more."""
MAX_RESUMES = 30
"""Connections that may break within one range even when each of them brought some bytes."""
BUDGET = 60.0
"""Seconds without progress, waits included, after which a failure is the last."""
PROGRESS = 1 << 16
"""Bytes that count as progress: fewer come from a server that is as good as dead."""

T = TypeVar("T")


class TransientError(UnreachableError):
    """A failure that may pass: a cut connection, a timeout, HTTP 429 or 5xx.

    Args:
        message: as for every error.
        hint: as for every error.
        wait: seconds that the server asked to wait, if it did.
    """

    def __init__(self, message: str, hint: str | None = None, wait: float | None = None) -> None:
        super().__init__(message, hint)
        self.wait = wait


@dataclass(slots=True)
class Patience:
    """What is left of the tries for one piece of work."""

    tries: int = 5
    """Failures in a row that end it."""
    sleep: Callable[[float], object] = time.sleep
    """Called with the seconds to wait."""
    _failures: int = field(default=0, init=False)
    _resumes: int = field(default=0, init=False)
    _fresh: int = field(default=0, init=False)
    _since: float = field(default_factory=time.monotonic, init=False)

    def progress(self, nbytes: int) -> None:
        """Bytes came: after enough of them, failures before count no longer in a row."""
        self._fresh += nbytes
        if self._fresh >= PROGRESS:
            self._failures = self._fresh = 0
            self._since = time.monotonic()

    def after(self, error: TransientError) -> None:
        """Wait before the next try.

        Raises:
            TransientError: the given one, when no try is left or the wait asked for is too long.
        """
        self._failures += 1
        self._resumes += 1
        wait = min(FIRST_WAIT * 2 ** (self._failures - 1), LONGEST_WAIT)
        if error.wait is not None:
            wait = max(wait, error.wait)
        if self._failures >= self.tries or self._resumes > MAX_RESUMES or wait > LONGEST_WAIT:
            raise error
        # The first failure may only mean that the process was suspended.
        if self._failures > 1 and time.monotonic() - self._since + wait > BUDGET:
            raise error
        self.sleep(wait)


def persistently(work: Callable[[], T], patience: Patience | None = None) -> T:
    """Call `work` until it succeeds or the patience is used up.

    Raises:
        SourceError: what `work` raised last.
    """
    patience = patience or Patience()
    while True:
        try:
            return work()
        except TransientError as error:
            patience.after(error)
