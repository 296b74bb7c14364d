"""How many bytes a run has read from other machines."""

from __future__ import annotations

from threading import Lock


class Traffic:
    """Bytes read over the network, and bytes of all files at the addresses that were opened.

    One counter serves the whole process, as the connections do; threads may share it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.read = 0
        """Bytes received."""
        self.available = 0
        """Bytes of all files listed; 0 where no address told its sizes."""

    def count(self, nbytes: int) -> None:
        """Add received bytes."""
        with self._lock:
            self.read += nbytes

    def offer(self, nbytes: int) -> None:
        """Add the bytes of an address's files."""
        with self._lock:
            self.available += nbytes

    def reset(self) -> None:
        """Begin a new run."""
        with self._lock:
            self.read = self.available = 0


TRAFFIC = Traffic()
