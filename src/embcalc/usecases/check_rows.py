"""From an opened checkpoint to the facts of the rules about rows: each table is read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Problem, Severity
from embcalc.core.progress import Progress, silent
from embcalc.core.row_facts import RowFacts, Rows, TableRows
from embcalc.core.tables import EmbeddingTable, Role
from embcalc.core.tying import expects_head, may_lie_elsewhere, said_of_tying, verdict
from embcalc.errors import CheckpointError, SourceError
from embcalc.usecases.documents import tying_unread
from embcalc.usecases.gather import Gathered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from embcalc.checkpoints import Checkpoint
    from embcalc.rows.scan import RowHealth

ROLES = (Role.TOKEN, Role.OUTPUT, Role.TOKEN_EXTRA)
"""Tables whose rows are checked."""


def row_facts(
    gathered: Gathered,
    *,
    rows: bool,
    no_values: str | None,
    workers: int = 1,
    progress: Progress = silent,
) -> RowFacts:
    """Judge tying, and the rows of the token tables and heads.

    A table whose values cannot be had is left out, with the reason.

    Args:
        gathered: the model.
        rows: whether rows are read; without them tying is judged from names and shapes.
        no_values: why the first values of the other matrices are not looked at; None to look.
        workers: threads that read a share of a large table each.
        progress: told about the bytes read.
    """
    facts, checkpoint = gathered.facts, gathered.checkpoint
    if checkpoint is None:
        why = facts.no_weights or "no weights"
        return RowFacts(model=facts, unread=why, no_values=why)
    tables = [table for table in facts.tables if table.role in ROLES]
    work = _Work(checkpoint, workers, progress)
    if rows:
        for table in tables:
            work.read(table)
    if no_values is None:
        work.look(tables)
    tying = verdict(
        said_of_tying(facts.config, facts.tables, checkpoint.format),
        facts.tables,
        lambda: _equal(work.scans, tables),
        has_head=_has_head(facts, checkpoint),
        unread=tying_unread(facts.config, facts.config_absent),
    )
    return RowFacts(
        model=facts,
        tables=tuple(work.found),
        unread="; ".join(work.unread) or _why_none(tables, rows=rows),
        tying=None if may_lie_elsewhere(tables, checkpoint.problems) else tying,
        expects_head=_has_head(facts, checkpoint),
        problems=tuple(work.problems),
        value_problems=tuple(work.odd),
        no_values=no_values,
    )


def _why_none(tables: Iterable[EmbeddingTable], *, rows: bool) -> str:
    if not rows:
        return "rows not asked for"
    return "" if any(tables) else "no token table found in the weights"


def _has_head(facts: ModelFacts, checkpoint: Checkpoint) -> bool | None:
    names = facts.document.get("architectures")
    architectures = tuple(map(str, names)) if isinstance(names, list) else ()
    return expects_head(architectures, len(facts.tables), len(checkpoint.tensors), facts.config)


@dataclass(slots=True)
class _Work:
    """The tables of one checkpoint, as they are read."""

    checkpoint: Checkpoint
    workers: int
    progress: Progress
    found: list[TableRows] = field(default_factory=list)
    scans: dict[str, RowHealth] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    odd: list[Problem] = field(default_factory=list)

    def look(self, tables: Iterable[EmbeddingTable]) -> None:
        """Look into the first values of all matrices but the tables, which are read as a whole."""
        from embcalc.checkpoints.values import value_problems

        known = {table.name for table in tables}
        names = [name for name in self.checkpoint.tensors if name not in known]
        try:
            self.odd.extend(value_problems(self.checkpoint, names, len(known)))
        except SourceError as error:
            self._broken(error, None)

    def _broken(self, error: SourceError, file: str | None) -> None:
        self.problems.append(Problem(error.message, error.hint, file, severity=Severity.ERROR))

    def read(self, table: EmbeddingTable) -> None:
        """Read one table, or note why not."""
        if table.transposed:
            self.unread.append(f"{table.name} stores its vectors as columns")
            return
        try:
            self.found.append(self._rows(table))
        except CheckpointError as error:
            self.unread.append(error.message)
        except SourceError as error:
            self.unread.append(error.message)
            self._broken(error, table.tensor.file)

    def _rows(self, table: EmbeddingTable) -> TableRows:
        import numpy as np

        from embcalc.checkpoints.values import strange_numbers
        from embcalc.rows.fingerprints import identical_groups
        from embcalc.rows.health import judge
        from embcalc.rows.scan import scan_health

        found = scan_health(
            self.checkpoint, table.name, workers=self.workers, progress=self.progress
        )
        health = judge(found.norms, found.nonfinite)
        left_out = health.zero | health.nonfinite
        groups = identical_groups(self.checkpoint, table.name, found.keys, left_out)
        alive = found.norms[np.isfinite(found.norms) & ~health.zero]
        self.scans[table.name] = found
        told = TableRows(
            table=table,
            zero=_numbers(health.zero),
            near_zero=_numbers(health.near_zero),
            nonfinite=_numbers(health.nonfinite),
            duplicates=groups,
            median_norm=float(np.median(alive)) if len(alive) else None,
            largest_norm=float(alive.max(initial=0.0)),
        )
        if not told.odd_size:
            return told
        return replace(told, strange=strange_numbers(self.checkpoint, table.name))


def _numbers(mask: NDArray[np.bool_]) -> Rows:
    return tuple(mask.nonzero()[0].tolist())


def _equal(scans: Mapping[str, RowHealth], tables: Iterable[EmbeddingTable]) -> bool | None:
    """Whether table and head hold the same bits, by key and norm of every row."""
    firsts: dict[Role, EmbeddingTable] = {}
    for table in tables:
        firsts.setdefault(table.role, table)
    one, other = (scans.get(firsts[role].name) for role in (Role.TOKEN, Role.OUTPUT))
    if one is None or other is None or one.dtype != other.dtype:
        return None
    return one.same_rows(other)
