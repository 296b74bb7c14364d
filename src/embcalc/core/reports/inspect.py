"""What `inspect` found out, for every renderer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from embcalc.core.findings import Severity
from embcalc.core.tying import Tying

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
LISTED = 1000
"""Rows listed of a kind; the count beside them is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFacts:
    """The checkpoint as a whole."""

    path: str
    format: str
    files: int
    tensors: int
    parameters: int
    """Weights: integer buffers are none, packed weights count as what they hold."""
    nbytes: int
    """Stored bytes of all tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NormStatistics:
    """Of the L2 norms of all finite rows."""

    min: float
    max: float
    mean: float
    std: float
    """Population standard deviation."""
    percentiles: Mapping[int, float]
    """Linear between neighbours, as numpy does by default."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of finite row norms."""

    edges: tuple[float, ...]
    """One more than counts, ascending; a norm on an edge belongs to the bin that begins there."""
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RowNorm:
    """A row with its token and norm."""

    row: int
    token: str | None
    norm: float


@dataclass(frozen=True, slots=True)
class RowSet:
    """Rows of one kind."""

    count: int
    rows: tuple[int, ...]
    """At most `LISTED`, ascending."""


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Rows that belong together."""

    count: int
    """Rows that have an earlier row of their group."""
    groups: tuple[tuple[int, ...], ...]
    """Ascending by first row; cut so that at most `LISTED` rows are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Many rows that point the same way."""

    count: int
    cosine: float
    """Median cosine to the centre."""
    rows: tuple[int, ...]
    """At most `LISTED`."""
    used: int
    """Rows that are neither padding nor reserved: tokens that text can have."""
    nearest: int
    """The row nearest to the centre."""
    token: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeyondTokenizer:
    """Rows that no trained token uses, by kind."""

    tokens: int
    """Tokens of the tokenizer: distinct effective ids."""
    last_id: int
    padding: RowSet
    """Rows without a token: past the last id, or holes below it."""
    reserved: RowSet
    """Rows whose token is a placeholder such as `<|reserved_special_token_7|>`."""
    uninitialised: RowSet
    """Added tokens whose rows look like no training ever touched them."""
    uninitialised_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A row that looks under-trained."""

    row: int
    token: str | None
    score: float
    """By the indicator; lower is more suspect."""
    category: str
    """`ordinary`, `special`, `byte`, `unreachable`, `undecodable`."""
    second: float | None = None
    """Second opinion: cosine distance on the output head, where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undertrained:
    """Rows that training seems to have passed by."""

    indicator: str
    """`norm` or `cosine`."""
    reference_count: int
    signs: tuple[str, ...]
    """By which the reference rows were recognised."""
    reason: str
    """Why this indicator, in one sentence."""
    confidence: str
    """`high`, `medium` or `low`."""
    candidates: tuple[Candidate, ...]
    """Ordinary tokens, most suspect first."""
    apart: tuple[Candidate, ...] = ()
    """Special tokens, bytes, and tokens that no text encodes to, most suspect first."""
    threshold: float | None = None
    """Score of the last of the lowest 2% of ordinary tokens."""
    suspects: int = 0
    """Ordinary tokens that lie where the references lie."""
    distances: Mapping[int, float] = field(default_factory=dict)
    """Percentiles of the indicator over ordinary tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialRow:
    """A special or chat-template token whose row is ill."""

    row: int
    token: str
    why: str
    """`zero`, `near zero`, `not finite`, `never initialised`, `a copy`, `under-trained`."""
    in_template: bool
    """Whether the chat template writes this token."""
    severe: bool
    """Whether the model cannot use the token at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowData:
    """All rows of a table, for exports and pictures; arrays `[rows]`."""

    norms: NDArray[np.float64]
    keys: NDArray[np.uint64]
    """Equal for rows of equal bits."""
    flags: Mapping[str, NDArray[np.bool_]]
    """By name: `zero`, `near-zero`, `nonfinite`, …"""
    tokens: Sequence[str | None] | None
    """As people write them; None for tables without tokens."""
    special: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReport:
    """One table."""

    tensor: str
    role: str
    dtype: str
    quantised: bool = field(default=False, kw_only=True)
    """Whether the numbers are codes with scales."""
    rows: int
    width: int
    nbytes: int
    parameters: int
    share: float | None
    """Of the parameters of the checkpoint."""
    note: str | None
    norms: NormStatistics | None
    """None where no row is finite."""
    histogram: Histogram | None
    smallest: tuple[RowNorm, ...]
    largest: tuple[RowNorm, ...]
    zero: RowSet
    near_zero: RowSet
    nonfinite: RowSet
    duplicates: RowGroups
    near_duplicates: RowGroups | None
    """None where not looked for: the table is too narrow."""
    clusters: tuple[Cluster, ...]
    outliers: RowSet
    beyond: BeyondTokenizer | None
    undertrained: Undertrained | None
    special_rows: tuple[SpecialRow, ...]
    pad_rows: tuple[RowNorm, ...]
    """Rows of the padding tokens."""
    zero_on_tokens: int
    """Zero rows that belong to a token other than padding and placeholders; of a table without
    tokens, all zero rows."""
    looks_fresh: bool
    """Whether the norms are distributed as those of a table that was never trained."""
    element_mean: float | None
    element_std: float | None
    element_absmax: float
    strange: str | None = None
    """What is strange about the magnitudes of the first rows: one sentence; None for nothing."""
    fresh_sigma: float
    """Standard deviation of a fresh table: the config's `initializer_range`, else 0.02."""
    fresh_norm: float
    """σ·√width: where the rows of a fresh table lie."""
    dead_columns: RowSet
    outlier_columns: RowSet
    column_rows: int
    """Rows that the statements about columns rest on."""
    data: RowData = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedRow:
    """A row that the user asked for."""

    tensor: str
    row: int
    token: str | None
    norm: float
    values: tuple[float, ...]
    """The first few numbers."""
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFinding:
    """Something about rows that a reader should know."""

    name: str
    """What `--fail-on` calls it: `zero`, `nonfinite`, `duplicate`, …"""
    severity: Severity
    message: str
    hint: str | None = None
    tensor: str | None = None
    rows: tuple[int, ...] = ()
    """At most `LISTED`."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A tensor, or a part of the work, that was not looked at."""

    tensor: str
    reason: str

    @property
    def line(self) -> str:
        """Both as one sentence, which names a thing once."""
        if self.reason.startswith(self.tensor):
            return self.reason
        return f"{self.tensor}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectReport:
    """Everything about one checkpoint, worst findings first."""

    checkpoint: CheckpointFacts
    tying: Tying
    tokenizer: str | None
    """File of the vocabulary that gave the tokens."""
    tables: tuple[TableReport, ...]
    selected: tuple[SelectedRow, ...]
    checked: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    findings: tuple[RowFinding, ...]
