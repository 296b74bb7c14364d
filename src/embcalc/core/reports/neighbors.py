"""What `embcalc neighbors` found: the rows nearest to a token, or to a sum of tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryToken:
    """One term of the query."""

    row: int
    text: str | None
    """As the vocabulary stores it, or None where no token has the row."""
    shown: str
    """As people read it; still to be made safe for a terminal."""
    minus: bool = False
    """Whether its row is subtracted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbor:
    """One row near the query."""

    row: int
    text: str | None
    shown: str
    score: float
    """Cosine or dot product, larger is nearer; Euclidean distance, smaller is nearer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborsReport:
    """The nearest rows, best first."""

    model: str
    tensor: str
    role: str
    dtype: str
    table_rows: int
    width: int
    tokenizer: str | None
    """File that names the tokens."""
    query: tuple[QueryToken, ...]
    metric: str
    """`cosine`, `euclidean` or `dot`."""
    centered: bool
    """Whether the mean row was subtracted from every row first."""
    excluded: tuple[str, ...]
    """Kinds of rows left out: `special`, `unused`."""
    excluded_rows: int
    undefined_rows: int
    """Rows without a score: not finite, or zero under cosine."""
    mean_cosine: float
    """Average cosine between the query and the rows that may be an answer; NaN where there is
    none."""
    neighbors: tuple[Neighbor, ...]
    rows: NDArray[Any] = field(repr=False)
    """`[top]`, int64: rows of `neighbors`."""
    scores: NDArray[Any] = field(repr=False)
    """`[top]`, float64: scores of `neighbors`."""
    notes: tuple[str, ...] = ()
    """What a reader should know."""
