"""What one table is made to tell: the pass over its rows, and everything read again after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from embcalc.core.display import token_text
from embcalc.core.pad_tokens import padding_ids
from embcalc.core.progress import Progress
from embcalc.core.reports.inspect import Skipped
from embcalc.core.role import TOKEN_ROLES
from embcalc.core.tables import EmbeddingTable
from embcalc.core.vocabulary import Vocabulary
from embcalc.rows.access import RowSource
from embcalc.rows.beyond import groups_mask
from embcalc.rows.fingerprints import identical_groups
from embcalc.rows.health import Health, judge
from embcalc.rows.kernels import Floats
from embcalc.rows.near_duplicates import near_groups
from embcalc.rows.neighbourhoods import FoundCluster, clusters
from embcalc.rows.references import References, categories, find_references
from embcalc.rows.scan import RowScan, scan
from embcalc.rows.undertrained import reference_direction
from embcalc.usecases.opened import Model

DEFAULT_SIGMA = 0.02
"""`initializer_range` of nearly all transformer configurations."""

Groups = tuple[tuple[int, ...], ...]


class RowTokens(Sequence[str | None]):
    """Tokens of the rows of a table as people write them, decoded when asked for."""

    def __init__(self, vocabulary: Vocabulary, rows: int) -> None:
        self._vocabulary = vocabulary
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, row: int) -> str | None: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[str | None]: ...
    def __getitem__(self, row: int | slice) -> str | Sequence[str | None] | None:
        if isinstance(row, slice):
            return [token_text(self._vocabulary, each) for each in range(self._rows)[row]]
        return token_text(self._vocabulary, range(self._rows)[row])


@dataclass(frozen=True, kw_only=True)
class TableContext:
    """What all tables of one checkpoint share."""

    model: Model
    top: int
    bins: int | None
    progress: Progress
    skipped: list[Skipped] = field(default_factory=list)

    @cached_property
    def source(self) -> RowSource:
        """Where the rows of all tables are read."""
        return self.model.row_source

    @cached_property
    def sigma(self) -> float:
        """Standard deviation that the config initialises with."""
        document = self.model.document
        for part in (document.get("text_config"), document):
            value: Any = part.get("initializer_range") if isinstance(part, Mapping) else None
            if isinstance(value, int | float) and 0 < value < 1e6:
                return float(value)
        return DEFAULT_SIGMA

    @cached_property
    def pad_ids(self) -> frozenset[int]:
        """Ids that fill up; their rows may be zero, torch keeps `padding_idx` rows so."""
        config = self.model.config
        stated = [s.ids for s in (config.special_ids if config else ()) if s.name == "pad_token_id"]
        by_config = frozenset(token for ids in stated for token in ids)
        return by_config | padding_ids(self.model.vocabulary, self.model.emitted)

    def vocabulary_of(self, table: EmbeddingTable) -> Vocabulary | None:
        """The vocabulary, for tables whose rows belong to its ids."""
        return self.model.vocabulary if table.role in TOKEN_ROLES else None


@dataclass(frozen=True, kw_only=True)
class ScannedTable:
    """One table after its pass."""

    table: EmbeddingTable
    vocabulary: Vocabulary | None
    scan: RowScan
    health: Health
    identical: Groups
    near: Groups | None
    clusters: tuple[FoundCluster, ...]
    references: References | None
    direction: Floats | None
    """u, along the mean of the references; the scan's first projection."""

    @cached_property
    def ordered(self) -> Floats:
        """Finite norms, ascending."""
        return np.sort(self.scan.norms[self.scan.usable])

    @cached_property
    def tokens(self) -> RowTokens | None:
        """Tokens of the rows."""
        return RowTokens(self.vocabulary, self.table.rows) if self.vocabulary else None

    @cached_property
    def repeated(self) -> NDArray[np.bool_]:
        """Rows that equal another one, or nearly."""
        return groups_mask(self.table.rows, [*self.identical, *(self.near or ())])

    @cached_property
    def special(self) -> NDArray[np.bool_]:
        """Rows of special tokens."""
        ids = self.vocabulary.special_ids if self.vocabulary else ()
        return groups_mask(self.table.rows, [[i for i in ids if i < self.table.rows]])

    @cached_property
    def categories(self) -> NDArray[np.str_]:
        """Kind of token of every row."""
        assert self.vocabulary is not None  # noqa: S101 - callers ask for tables with tokens
        return np.array(categories(self.vocabulary, self.table.rows))


def scan_table(context: TableContext, table: EmbeddingTable) -> ScannedTable:
    """Read a table once, and those of its rows again that need a second look.

    Raises:
        CheckpointError: its values cannot be had.
        SourceError: its file cannot be read.
    """
    context.model.require_rows(table)
    source, name = context.source, table.name
    vocabulary = context.vocabulary_of(table)
    references = find_references(vocabulary, table.rows) if vocabulary else None
    direction = reference_direction(source, name, references) if references else None
    found = scan(
        source,
        name,
        directions=None if direction is None else direction[None],
        workers=1 if table.transposed else context.model.workers,
        progress=context.progress,
    )
    health = judge(found.norms, found.nonfinite)
    identical = identical_groups(source, name, found.keys, found.zero | found.nonfinite)
    later = groups_mask(table.rows, [group[1:] for group in identical])
    return ScannedTable(
        table=table,
        vocabulary=vocabulary,
        scan=found,
        health=health,
        identical=identical,
        near=near_groups(source, name, found, health.zero | health.nonfinite | later),
        clusters=clusters(source, name, found),
        references=references,
        direction=direction,
    )
