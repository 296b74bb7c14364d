"""The one protocol that every container format implements."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Protocol

from embcalc.core.blocks import BLOCK_BYTES, RowBlock
from embcalc.core.findings import Problem
from embcalc.core.tables import TensorInfo

__all__ = ["BLOCK_BYTES", "Checkpoint", "RowBlock", "TensorHeaders", "empty_names"]


class TensorHeaders(Mapping[str, TensorInfo]):
    """Headers of which each becomes a `TensorInfo` when asked for: few of 94,000 ever are."""

    @abstractmethod
    def empty(self) -> list[str]:
        """Names of the tensors without scalars."""


def empty_names(tensors: Mapping[str, TensorInfo]) -> list[str]:
    """Names of the tensors without scalars, from headers as they are where possible."""
    if isinstance(tensors, TensorHeaders):
        return tensors.empty()
    return [name for name, tensor in tensors.items() if 0 in tensor.shape]


class Checkpoint(Protocol):
    """An opened checkpoint: headers in memory, values on demand."""

    @property
    def format(self) -> str:
        """`safetensors`, `pytorch`, `gguf`, `mlx`, `numpy`."""

    @property
    def label(self) -> str:
        """What was read, as the user would name it."""

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files that hold tensors."""

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """All tensors by stored name, in file order."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """Text metadata of the container."""

    @property
    def unread(self) -> str | None:
        """Why the headers of some files were not read: one phrase; None where all were."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What opening noticed and survived: stale indexes, stray files, absent shards."""

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream the rows of a tensor: all, or the contiguous `rows`.

        Blocks hold about `BLOCK_BYTES`; each is valid until the next is asked for.

        Raises:
            CheckpointError: the values cannot be had (the message says why).
            SourceError: the file cannot be read.
        """
