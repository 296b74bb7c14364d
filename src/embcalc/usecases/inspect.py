"""One checkpoint → the health of every row of its embedding tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from embcalc.core.progress import Progress, silent
from embcalc.core.reports.inspect import (
    CheckpointFacts,
    InspectReport,
    SelectedRow,
    Skipped,
    TableReport,
)
from embcalc.core.tables import EmbeddingTable
from embcalc.core.tying import Tying, verdict
from embcalc.errors import CheckpointError, UsageError
from embcalc.usecases.inspect_findings import findings
from embcalc.usecases.inspect_table import TableContext, inspect_table, selected_rows
from embcalc.usecases.opened import Model, open_model


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions:
    """What to look at, and how much of it to show."""

    tensor: str | None = None
    """The one table to inspect; None inspects all that are found."""
    tokenizer: str | None = None
    top: int = 10
    """Smallest, largest and suspect rows to list."""
    rows: Sequence[int] = ()
    """Rows to show with their values."""
    bins: int | None = None

    def __post_init__(self) -> None:
        if self.top < 0:
            raise UsageError("--top is below 0", hint="give the number of rows to list")
        if self.bins is not None and not 1 <= self.bins <= 10_000:
            raise UsageError("--bins is not between 1 and 10,000")


def inspect(
    address: str, options: InspectOptions | None = None, *, progress: Progress = silent
) -> InspectReport:
    """Read every embedding table of a checkpoint once and judge its rows.

    Args:
        address: a local path, a hub id or another address.
        options: what to look at; None takes the defaults.
        progress: told about the bytes read.

    Raises:
        UsageError: a row that was asked for does not exist.
        SourceError, CheckpointError, ConfigError, TokenizerError: a file cannot be read, or
            holds no table.
    """
    options = options or InspectOptions()
    model = open_model(address, options.tokenizer, options.tensor)
    if not model.tables:
        model.token_table()
    context = TableContext.of(model, options.top, options.bins, progress)
    tables: list[TableReport] = []
    skipped: list[Skipped] = []
    for table in model.tables:
        try:
            tables.append(inspect_table(context, table))
        except CheckpointError as error:
            if options.tensor is not None:
                raise
            skipped.append(Skipped(table.name, error.message))
    selected = tuple(_selected(context, model, tables, options.rows)) if options.rows else ()
    tying = _tying(model, tables)
    return InspectReport(
        checkpoint=_facts(model),
        tying=tying,
        tokenizer=None if model.vocabulary is None else model.vocabulary.file,
        tables=tuple(tables),
        selected=selected,
        checked=tuple(table.tensor for table in tables),
        skipped=(*skipped, *context.skipped),
        findings=findings(tables, tying),
    )


def _facts(model: Model) -> CheckpointFacts:
    checkpoint = model.checkpoint
    tensors = checkpoint.tensors.values()
    return CheckpointFacts(
        path=model.address,
        format=checkpoint.format,
        files=len(checkpoint.files),
        tensors=len(tensors),
        parameters=sum(tensor.parameters for tensor in tensors),
        nbytes=sum(tensor.nbytes for tensor in tensors),
    )


def _tying(model: Model, tables: Sequence[TableReport]) -> Tying:
    by_name = {table.tensor: table for table in tables}
    pair = [by_name.get(name) for name in _token_and_head(model.tables)]

    def equal() -> bool | None:
        first, second = (pair[0], pair[1]) if len(pair) == 2 else (None, None)
        if first is None or second is None:
            return None
        return first.data.same_rows(second.data)

    return verdict(model.tied_said, model.tables, equal, has_head=model.has_head)


def _token_and_head(tables: Sequence[EmbeddingTable]) -> list[str]:
    firsts: dict[str, str] = {}
    for table in tables:
        firsts.setdefault(table.role, table.name)
    return [firsts[role] for role in ("token", "output") if role in firsts]


def _selected(
    context: TableContext, model: Model, tables: Sequence[TableReport], rows: Sequence[int]
) -> Iterator[SelectedRow]:
    largest = max((table.rows for table in tables), default=0)
    for row in rows:
        if not 0 <= row < largest:
            raise UsageError(
                f"--rows names row {row:,}, and the largest table has {largest:,} rows",
                hint=f"rows count from 0 to {largest - 1:,}",
            )
    for table in tables:
        yield from selected_rows(context, model, table, [row for row in rows if row < table.rows])
