"""How long work reports on itself without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told about bytes as they are worked through."""

    def __call__(self, label: str, done: int, total: int) -> None:
        """Say that `done` of `total` bytes of `label` are finished."""


def silent(label: str, done: int, total: int) -> None:
    """Report nothing."""
