"""Storage formats of numbers: how many bits a block of scalars takes, and of what kind they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["float", "int", "bool", "complex", "quantised"]


@dataclass(frozen=True, slots=True)
class DType:
    """How the scalars of a tensor are stored.

    Most formats store one scalar at a time (`block` 1); quantised ones store `block` scalars
    together with their scales in `bits` bits.
    """

    name: str
    """As safetensors, GGUF or MLX spell it: `BF16`, `F8_E4M3`, `Q6_K`."""
    bits: int
    """Bits per block."""
    kind: Kind = "float"
    block: int = 1
    """Scalars per block."""

    def nbytes(self, scalars: int) -> int:
        """Bytes that `scalars` scalars take, the last byte filled up for sub-byte formats."""
        return -(-scalars * self.bits // (8 * self.block))

    @property
    def is_weight(self) -> bool:
        """Whether a tensor of this type holds parameters: integer and boolean buffers do not."""
        return self.kind in ("float", "complex", "quantised")

    def __str__(self) -> str:
        return self.name


SAFETENSORS_DTYPES: tuple[DType, ...] = (
    DType("BOOL", 8, "bool"),
    DType("F4", 4),
    DType("F6_E2M3", 6),
    DType("F6_E3M2", 6),
    DType("U8", 8, "int"),
    DType("I8", 8, "int"),
    DType("F8_E5M2", 8),
    DType("F8_E4M3", 8),
    DType("F8_E8M0", 8),
    DType("F8_E4M3FNUZ", 8),
    DType("F8_E5M2FNUZ", 8),
    DType("I16", 16, "int"),
    DType("U16", 16, "int"),
    DType("F16", 16),
    DType("BF16", 16),
    DType("I32", 32, "int"),
    DType("U32", 32, "int"),
    DType("F32", 32),
    DType("C64", 64, "complex"),
    DType("F64", 64),
    DType("I64", 64, "int"),
    DType("U64", 64, "int"),
)
"""The 22 dtypes of the safetensors format (its Rust source, `tensor.rs`)."""

BY_NAME: dict[str, DType] = {dtype.name: dtype for dtype in SAFETENSORS_DTYPES}
