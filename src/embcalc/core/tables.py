"""Tensors as a checkpoint's header describes them, and the roles that embcalc gives them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from embcalc.core.dtypes import DType
from embcalc.core.role import Role

__all__ = ["EmbeddingTable", "Role", "TensorInfo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorInfo:
    """One tensor of a checkpoint, known from headers alone."""

    name: str
    """As stored, wrappers included."""
    shape: tuple[int, ...]
    """Logical shape: of a packed quantised tensor, the shape of the weights that it holds."""
    dtype: DType
    file: str
    """Name of the file that stores it, relative to the checkpoint's folder."""
    nbytes: int
    """Bytes stored, scales and zero points of a quantised tensor included."""
    storage: str | None = None
    """Identity of the stored bytes: two tensors of one storage are one and the same matrix.
    None where the format cannot share."""

    @property
    def scalars(self) -> int:
        """Number of scalars."""
        return prod(self.shape)

    @property
    def parameters(self) -> int:
        """Scalars that are weights: an integer or boolean buffer has none."""
        return self.scalars if self.dtype.is_weight else 0

    @property
    def rows(self) -> int:
        """Size of the first axis; 1 for a scalar."""
        return self.shape[0] if self.shape else 1

    @property
    def width(self) -> int:
        """Scalars per row."""
        return prod(self.shape[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingTable:
    """A tensor that holds one vector per row, and what it is to the embedding layer."""

    role: Role
    tensor: TensorInfo
    recognised: Literal["name", "shape", "named"] = "name"
    """By its name, by its shape alone, or because the user named it."""
    note: str | None = None
    """What a reader should know about how it was recognised: a wrapper that was stripped, a
    fallback on the shape. One line."""
    transposed: bool = False
    """Whether the vectors are the columns: the stored shape is `[width, rows]`."""

    @property
    def name(self) -> str:
        """The tensor's stored name."""
        return self.tensor.name

    @property
    def rows(self) -> int:
        """Number of vectors, padding included."""
        return self.tensor.shape[1] if self.transposed else self.tensor.rows

    @property
    def width(self) -> int:
        """Scalars per vector."""
        return self.tensor.rows if self.transposed else self.tensor.width
