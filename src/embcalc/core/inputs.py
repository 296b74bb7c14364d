"""The local files that this run has read, so that none of them is ever written over."""

from __future__ import annotations

_READ: set[str] = set()


def remember(path: str) -> None:
    """Note that the file at the absolute `path` belongs to a model or tokenizer that was read."""
    _READ.add(path)


def is_input(path: str) -> bool:
    """Whether the file at the absolute `path` was read."""
    return path in _READ


def inputs() -> tuple[str, ...]:
    """What was read: a process that reads for another one tells it so."""
    return tuple(_READ)


def forget() -> None:
    """Begin a new run."""
    _READ.clear()
