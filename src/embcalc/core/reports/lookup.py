"""What `embcalc lookup` found: text, ids and the rows that they become."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupToken:
    """One position of one sequence."""

    id: int
    text: str | None
    """As the vocabulary stores it, or None where no token has the id."""
    shown: str
    """As a reader would write it; still to be made safe for a terminal."""
    padding: bool = False
    """Put there to fill the sequence up, not part of the input."""
    template: bool = False
    """Put there by the tokenizer's template, such as [CLS]; not in the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupSequence:
    """One text, or one list of ids, filled up to the length of the longest."""

    text: str | None
    """What was encoded, or None where ids were given."""
    tokens: tuple[LookupToken, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """Token ids, padding included."""
        return tuple(token.id for token in self.tokens)

    @property
    def length(self) -> int:
        """Positions that are not padding."""
        return sum(not token.padding for token in self.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneHot:
    """The same lookup, done as a matrix product."""

    max_difference: float
    """Largest absolute difference between one-hot times table and the rows; 0 when all is well."""
    one_hot_bytes: int
    """The one-hot matrix `[B, T, V]` in float32: 4·B·T·V."""
    flops: int
    """Multiplications and additions of the product: 2·B·T·V·d."""
    lookup_bytes: int
    """What copying the rows moves: B·T·d scalars as stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupReport:
    """Ids `[B, T]` and their rows `[B, T, d]`."""

    model: str
    tensor: str
    dtype: str
    rows: int
    width: int
    tokenizer: str | None
    """File that encoded or named the tokens."""
    sequences: tuple[LookupSequence, ...]
    pad_id: int | None
    """The id that fills sequences up, or None where none is declared."""
    pad_source: str | None
    """Where the pad id comes from."""
    vectors: NDArray[Any] = field(repr=False)
    """`[B, T, d]`: float32, or float64 for a table stored in float64."""
    norms: NDArray[Any] = field(repr=False)
    """`[B, T]`, float64: the Euclidean norm of each vector."""
    one_hot: OneHot | None = None
    notes: tuple[str, ...] = ()
    """What a reader should know."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """`(B, T, d)`."""
        batch, length, width = self.vectors.shape
        return batch, length, width

    @property
    def ids(self) -> list[list[int]]:
        """`[B, T]` token ids."""
        return [list(sequence.ids) for sequence in self.sequences]
