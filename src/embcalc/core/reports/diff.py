"""What `embcalc diff` found between the tables of two checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRow:
    """A row that both tables have, with different values."""

    row: int
    text: str | None
    """The token of the row in B (in A where B has none), as stored."""
    shown: str
    delta_norm: float
    """Euclidean norm of B's row minus A's; infinite where one of them is not finite."""
    cosine: float
    """Between both rows; NaN where one is zero or not finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedRows:
    """Rows that only B has, compared with what new rows usually begin as."""

    count: int
    zero: int
    """All zeros."""
    at_mean: int
    """At the mean of A's rows, up to rounding: resized with mean initialisation, never trained."""
    repeated: int
    """Equal to an earlier added row, and neither zero nor at the mean."""
    elsewhere: int
    """Trained, or initialised in another way."""
    median_norm: float
    """Of the added rows; NaN where none is finite."""
    mean_distance: float
    """Root mean square distance of A's rows from their mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDiff:
    """One table in both checkpoints, compared row by row."""

    role: str
    tensor_a: str
    tensor_b: str
    dtype_a: str
    dtype_b: str
    compared_as: str
    """The coarser of both dtypes: what the values were rounded to before they were compared."""
    rows_a: int
    rows_b: int
    width_a: int
    width_b: int
    identical_rows: int
    changed_rows: int
    added_rows: int
    removed_rows: int
    nonfinite_rows: int
    """Changed rows that hold a NaN or an infinity in A or B."""
    most_changed: tuple[ChangedRow, ...]
    """Largest difference first."""
    added: AddedRows | None
    delta_norms: NDArray[Any] = field(repr=False)
    """`[rows in both]`, float64: norm of the difference; 0 for an identical row."""
    cosines: NDArray[Any] = field(repr=False)
    """`[rows in both]`, float64: cosine between both rows; 1 for an identical row."""

    @property
    def comparable(self) -> bool:
        """Whether rows have the same width."""
        return self.width_a == self.width_b

    @property
    def same_shape(self) -> bool:
        """Whether both tables have as many rows and columns."""
        return (self.rows_a, self.width_a) == (self.rows_b, self.width_b)

    @property
    def frozen(self) -> bool:
        """Whether both have rows in common, and none of them was changed."""
        return self.comparable and self.changed_rows == 0 < self.identical_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedToken:
    """A token that both vocabularies have, under different ids."""

    text: str
    id_a: int
    id_b: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyDiff:
    """Two vocabularies, compared text by text."""

    file_a: str
    file_b: str
    size_a: int
    size_b: int
    moved: tuple[MovedToken, ...]
    added: tuple[tuple[int, str], ...]
    """Id and text of the tokens that only B has."""
    removed: tuple[tuple[int, str], ...]
    """Id and text of the tokens that only A has."""

    @property
    def same(self) -> bool:
        """Whether every token has the same id in both."""
        return not (self.moved or self.added or self.removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffReport:
    """What B has that A has not, and the other way round."""

    model_a: str
    model_b: str
    tying_a: str
    tying_b: str
    tables: tuple[TableDiff, ...]
    only_a: tuple[str, ...]
    """Tables without a counterpart in B."""
    only_b: tuple[str, ...]
    vocabularies: VocabularyDiff | None
    """None where one of them has no tokenizer."""
    notes: tuple[str, ...] = ()

    @property
    def retied(self) -> bool:
        """Whether both verdicts on tying are known, and differ."""
        return self.tying_a != self.tying_b and "unknown" not in (self.tying_a, self.tying_b)

    @property
    def changed(self) -> bool:
        """Whether any number differs, or a row or table is there on one side only."""
        return self.reshaped or any(table.changed_rows for table in self.tables)

    @property
    def reshaped(self) -> bool:
        """Whether a table has other rows or columns, or is there on one side only."""
        one_sided = bool(self.only_a or self.only_b)
        return one_sided or not all(table.same_shape for table in self.tables)
