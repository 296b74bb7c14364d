"""One checkpoint → the health of every row of its embedding tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from embcalc.checkpoints import Wanted
from embcalc.core.progress import Progress, silent
from embcalc.core.reports.inspect import (
    CheckpointFacts,
    InspectReport,
    SelectedRow,
    Skipped,
    TableReport,
)
from embcalc.core.role import TOKEN_ROLES, Role
from embcalc.core.tying import Tying, may_lie_elsewhere, verdict
from embcalc.errors import CheckpointError, UsageError
from embcalc.rows.fingerprints import same_bits
from embcalc.usecases.documents import tying_unread
from embcalc.usecases.inspect_checkpoint import checkpoint_findings
from embcalc.usecases.inspect_findings import findings
from embcalc.usecases.inspect_scan import ScannedTable, TableContext, scan_table
from embcalc.usecases.inspect_table import selected_rows, table_report
from embcalc.usecases.inspect_undertrained import find_undertrained
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
            raise UsageError(f"--top {self.top} is below 0", hint="give the number of rows to list")
        if self.bins is not None and not 1 <= self.bins <= 10_000:
            raise UsageError(
                f"--bins {self.bins} is not between 1 and 10,000",
                hint="leave it out for about 20 bins of round width",
            )


def inspect(
    address: str | PathLike[str],
    options: InspectOptions | None = None,
    *,
    progress: Progress = silent,
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
    model = open_model(
        fspath(address),
        options.tokenizer,
        Wanted(options.tensor, whole=True),
        need_tokenizer=False,
        need_config=False,
    )
    if not model.tables:
        model.token_table()
    context = TableContext(model=model, top=options.top, bins=options.bins, progress=progress)
    scanned = _scan_all(context, given_name=options.tensor is not None)
    tying = _tying(context, scanned)
    tables = [_report(context, each, scanned, tying) for each in scanned]
    selected = tuple(_selected(context, tables, options.rows)) if options.rows else ()
    return InspectReport(
        checkpoint=_facts(model),
        tying=tying,
        tokenizer=None if model.vocabulary is None else model.vocabulary.file,
        tables=tuple(tables),
        selected=selected,
        checked=tuple(table.tensor for table in tables),
        skipped=(*_without(model), *context.skipped),
        findings=findings(
            tables,
            tying,
            checkpoint_findings(
                model, [each.table for each in scanned], whole=options.tensor is None
            ),
        ),
    )


def _without(model: Model) -> Iterator[Skipped]:
    """What lies beside the tables and could not be used."""
    if model.config_absent is not None:
        yield Skipped("config.json", model.config_absent)
    if model.tokenizer_broken and model.absent is not None:
        yield Skipped("tokenizer", model.absent)


def _scan_all(context: TableContext, *, given_name: bool) -> list[ScannedTable]:
    scanned = []
    for table in context.model.tables:
        try:
            scanned.append(scan_table(context, table))
        except CheckpointError as error:
            if given_name:
                raise
            context.skipped.append(Skipped(table.name, error.message))
    return scanned


def _report(
    context: TableContext, each: ScannedTable, scanned: Sequence[ScannedTable], tying: Tying
) -> TableReport:
    head = next((other for other in scanned if other.table.role is Role.OUTPUT), None)
    return table_report(context, each, find_undertrained(context, each, head, tying.verdict))


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


def _tying(context: TableContext, scanned: Sequence[ScannedTable]) -> Tying:
    model = context.model
    by_role: dict[Role, ScannedTable] = {}
    for each in scanned:
        by_role.setdefault(each.table.role, each)

    def equal() -> bool | None:
        token, head = by_role.get(Role.TOKEN), by_role.get(Role.OUTPUT)
        if token is None or head is None:
            return None
        return token.scan.same_rows(head.scan) and same_bits(
            context.source, token.table.name, head.table.name
        )

    return verdict(
        model.tied_said,
        model.tables,
        equal,
        has_head=model.has_head,
        unread=_why_tying_is_open(model),
    )


def _why_tying_is_open(model: Model) -> str | None:
    if may_lie_elsewhere(model.tables, model.checkpoint.problems) and not model.tied_said:
        return "files that may hold the other one are missing or broken"
    return tying_unread(model.config, model.config_absent)


def _selected(
    context: TableContext, tables: Sequence[TableReport], rows: Sequence[int]
) -> Iterator[SelectedRow]:
    roles = {role.value for role in TOKEN_ROLES}
    tables = [table for table in tables if table.role in roles] or tables[:1]
    largest = max((table.rows for table in tables), default=0)
    for row in rows:
        if not 0 <= row < largest:
            raise UsageError(
                f"--rows names row {row:,}, and the largest table has {largest:,} rows",
                hint=f"rows count from 0 to {largest - 1:,}",
            )
    for table in tables:
        yield from selected_rows(context, table, [row for row in rows if row < table.rows])
