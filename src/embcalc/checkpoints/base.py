"""The one protocol that every container format implements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from embcalc.core.dtypes import DType
from embcalc.core.findings import Problem
from embcalc.core.tables import TensorInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK_BYTES = 1 << 18
"""Bytes of a block of rows: small enough to stay in a core's cache, large enough to amortise
the call."""


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some consecutive rows of one tensor.

    `values` is `[rows, columns]`. Formats that numpy knows come as themselves (float32, float16,
    float64, integers); others as their bits: BF16 in uint16, 8-bit floats in uint8, sub-byte
    formats as packed uint8 bytes. `embcalc.core.decode` turns any of them into numbers. A
    quantised format that a reader dequantises comes as float32, and `dtype` says F32.
    """

    start: int
    """Row number of the first row."""
    values: NDArray[np.generic]
    dtype: DType


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
    def problems(self) -> tuple[Problem, ...]:
        """What opening noticed and survived: stale indexes, stray files, absent shards."""

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream the rows of a tensor: all, or the contiguous `rows`.

        Blocks hold about `BLOCK_BYTES`; each is valid until the next is asked for.

        Raises:
            CheckpointError: the values cannot be had (the message says why).
            SourceError: the file cannot be read.
        """
