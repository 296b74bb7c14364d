from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the shell is told."""

    OK = 0
    FINDINGS = 1
    """The command ran and found what it was asked to fail on."""
    CANNOT_RUN = 2
    """Wrong usage, unreadable or unsupported input, an address that does not answer."""
    INTERRUPTED = 130
    """Ctrl-C, as shells count it: 128 + SIGINT."""
