"""A checkpoint with what was noticed around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from embcalc.checkpoints.base import Checkpoint, RowBlock
from embcalc.core.findings import Problem
from embcalc.core.tables import TensorInfo


class NotedCheckpoint:
    """Another checkpoint, with further problems."""

    def __init__(self, inner: Checkpoint, problems: Iterable[Problem]) -> None:
        self._inner = inner
        self.format = inner.format
        self.label = inner.label
        self.files = inner.files
        self.metadata: Mapping[str, str] = inner.metadata
        self.tensors: Mapping[str, TensorInfo] = inner.tensors
        self.problems = (*problems, *inner.problems)

    @property
    def unread(self) -> str | None:
        """Why the headers of some files were not read."""
        return self._inner.unread

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream rows."""
        return self._inner.blocks(name, rows)


def with_problems(checkpoint: Checkpoint, problems: Iterable[Problem]) -> Checkpoint:
    """Add problems to a checkpoint; the same one comes back when there are none."""
    added = tuple(problems)
    return NotedCheckpoint(checkpoint, added) if added else checkpoint
