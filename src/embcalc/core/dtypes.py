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

_GGML_BLOCKS: dict[str, tuple[int, int, int]] = {
    "Q4_0": (2, 32, 18),
    "Q4_1": (3, 32, 20),
    "Q5_0": (6, 32, 22),
    "Q5_1": (7, 32, 24),
    "Q8_0": (8, 32, 34),
    "Q8_1": (9, 32, 40),
    "Q2_K": (10, 256, 84),
    "Q3_K": (11, 256, 110),
    "Q4_K": (12, 256, 144),
    "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210),
    "Q8_K": (15, 256, 292),
    "IQ2_XXS": (16, 256, 66),
    "IQ2_XS": (17, 256, 74),
    "IQ3_XXS": (18, 256, 98),
    "IQ1_S": (19, 256, 50),
    "IQ4_NL": (20, 32, 18),
    "IQ3_S": (21, 256, 110),
    "IQ2_S": (22, 256, 82),
    "IQ4_XS": (23, 256, 136),
    "IQ1_M": (29, 256, 56),
    "TQ1_0": (34, 256, 54),
    "TQ2_0": (35, 256, 66),
    "MXFP4": (39, 32, 17),
    "NVFP4": (40, 64, 36),
    "Q1_0": (41, 128, 18),
}
"""Type code, scalars per block, bytes per block (ggml's `ggml.h` and `ggml-common.h`)."""

GGML_DTYPES: dict[int, DType] = {
    0: BY_NAME["F32"],
    1: BY_NAME["F16"],
    24: BY_NAME["I8"],
    25: BY_NAME["I16"],
    26: BY_NAME["I32"],
    27: BY_NAME["I64"],
    28: BY_NAME["F64"],
    30: BY_NAME["BF16"],
} | {
    code: DType(name, 8 * size, "quantised", block)
    for name, (code, block, size) in _GGML_BLOCKS.items()
}
"""The tensor types of GGUF files by their code."""
