"""The rows nearest to a token, or to a sum of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

from embcalc.checkpoints import Wanted
from embcalc.core.progress import Progress, silent
from embcalc.core.reports.neighbors import Neighbor, NeighborsReport, QueryToken
from embcalc.core.tables import Role
from embcalc.core.unused_names import is_unused_name
from embcalc.errors import UsageError
from embcalc.usecases.opened import Model, open_model
from embcalc.usecases.query import query_token

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from embcalc.core.blocks import RowBlock
    from embcalc.core.tables import EmbeddingTable
    from embcalc.rows.neighbors import Nearest
    from embcalc.rows.parallel import RowPass

METRICS = ("cosine", "euclidean", "dot")
TABLES = ("token", "output")
EXCLUDABLE = ("special", "unused")
SHARED_DIRECTION = 0.25
"""Mean cosine above which the direction that all rows share is worth a note."""
LEAST_NUMBERS = 1024
"""Numbers of a table below which such a mean may be chance."""


def neighbors(  # noqa: PLR0913 - the options of a command
    model: str | PathLike[str],
    tokens: Sequence[str] = (),
    *,
    ids: Sequence[int] = (),
    minus: Sequence[str] = (),
    minus_ids: Sequence[int] = (),
    metric: str = "cosine",
    top: int = 10,
    table: str = "token",
    exclude: Sequence[str] = (),
    center: bool = False,
    tokenizer: str | PathLike[str] | None = None,
    tensor: str | None = None,
    progress: Progress = silent,
) -> NeighborsReport:
    """Find the rows nearest to a token, or to the sum of several minus others.

    The answer is that of brute force in float64; the table is streamed once (twice to centre).

    Args:
        model: a local path, a hub id or another address.
        tokens: as stored (`Ġhello`) or as typed (`hello`, ` hello`); several are added up.
        ids: row numbers, added up with the tokens.
        minus: tokens to subtract.
        minus_ids: row numbers to subtract.
        metric: `cosine`, `euclidean` or `dot`.
        top: how many rows to give; those of the query are left out.
        table: `token` or `output`.
        exclude: kinds of rows to leave out: `special`, `unused`.
        center: subtract the mean row from every row first.
        tokenizer: address of the tokenizer; None takes the one beside the model.
        tensor: stored name of the table, whatever its role.
        progress: told about bytes read.

    Raises:
        UsageError: a token or id is not to be found, or the query has no direction.
        SourceError, CheckpointError, ConfigError, TokenizerError: a file cannot be read.
    """
    wish = _Wish(
        tokens=_listed(tokens),
        ids=tuple(ids),
        minus=_listed(minus),
        minus_ids=tuple(minus_ids),
        metric=metric,
        top=top,
        table=table,
        exclude=tuple(exclude),
        center=center,
    )
    opened = open_model(model, tokenizer, Wanted(tensor), need_tokenizer=False, need_config=False)
    notes = list(opened.notes)
    chosen = _table(opened, table, tensor, notes)
    opened = opened.naming(chosen)
    query = _query(opened, wish, notes)
    _require_rows(query, chosen)
    skip, left_out = _skipped(opened, chosen, query, wish.exclude)
    found = _search(opened, chosen, query, wish, skip, progress)
    notes.extend(_advice(chosen, found, wish))
    return _report(opened, chosen, wish, query, found, left_out, notes)


def _listed(tokens: Sequence[str]) -> tuple[str, ...]:
    return (tokens,) if isinstance(tokens, str) else tuple(tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What to search for, and how."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    minus: tuple[str, ...]
    minus_ids: tuple[int, ...]
    metric: str
    top: int
    table: str
    exclude: tuple[str, ...]
    center: bool

    def __post_init__(self) -> None:
        """Refuse values out of their range."""
        if not self.tokens and not self.ids:
            raise UsageError("neighbors needs a token or --id", "for example: neighbors MODEL king")
        for option, value, allowed in (
            ("metric", self.metric, METRICS),
            ("table", self.table, TABLES),
            *(("exclude", kind, EXCLUDABLE) for kind in self.exclude),
        ):
            if value not in allowed:
                raise UsageError(
                    f"--{option} {value!r} is not known", hint=f"write {' or '.join(allowed)}"
                )
        if self.top < 1:
            raise UsageError(f"--top {self.top} asks for no neighbors", "give 1 or more")


def _table(model: Model, role: str, tensor: str | None, notes: list[str]) -> EmbeddingTable:
    if tensor is not None and role != "token":
        raise UsageError(
            f"--table {role} and --tensor both name a table", hint="leave one of them out"
        )
    if role == "token":
        return model.token_table()
    head = model.table(Role.OUTPUT)
    if head is not None:
        return head
    notes.append("no output head is stored: a tied one is the token table, which was searched")
    return model.token_table()


def _query(model: Model, wish: _Wish, notes: list[str]) -> tuple[QueryToken, ...]:
    return (
        *(query_token(model, typed, notes, minus=False) for typed in wish.tokens),
        *(_by_id(model, row, minus=False) for row in wish.ids),
        *(query_token(model, typed, notes, minus=True) for typed in wish.minus),
        *(_by_id(model, row, minus=True) for row in wish.minus_ids),
    )


def _by_id(model: Model, row: int, *, minus: bool) -> QueryToken:
    return QueryToken(row=row, text=model.text(row), shown=model.shown(row), minus=minus)


def _require_rows(query: Sequence[QueryToken], table: EmbeddingTable) -> None:
    for token in query:
        if not 0 <= token.row < table.rows:
            source = "--id" if token.text is None else f"token {token.text!r}"
            raise UsageError(
                f"id {token.row} has no row: {table.name} has {table.rows:,} rows (from {source})",
                "ids count from 0; embcalc check-vocab compares them with the rows",
            )


def _skipped(
    model: Model, table: EmbeddingTable, query: Sequence[QueryToken], exclude: Sequence[str]
) -> tuple[NDArray[np.bool_], int]:
    """Rows that may not be an answer, and how many of them only because of `exclude`."""
    import numpy as np

    skip = np.zeros(table.rows, np.bool_)
    for row in _excluded(model, table.rows, exclude):
        skip[row] = True
    left_out = int(skip.sum())
    skip[[token.row for token in query]] = True
    return skip, left_out


def _excluded(model: Model, rows: int, exclude: Sequence[str]) -> Iterator[int]:
    vocabulary = model.vocabulary
    if vocabulary is None:
        if exclude:
            raise UsageError(
                "--exclude needs a tokenizer, and there is none beside the model",
                "name one with --tokenizer",
            )
        return
    if "special" in exclude:
        yield from (row for row in vocabulary.special_ids if 0 <= row < rows)
    if "unused" in exclude:
        texts = vocabulary.texts
        yield from (row for row in range(rows) if row not in texts or is_unused_name(texts[row]))


def _search(  # noqa: PLR0913, PLR0917 - what to search, how, and who hears of it
    model: Model,
    table: EmbeddingTable,
    query: Sequence[QueryToken],
    wish: _Wish,
    skip: NDArray[np.bool_],
    progress: Progress,
) -> Nearest:
    from embcalc.rows.judge import Metric
    from embcalc.rows.mean import mean_row
    from embcalc.rows.neighbors import Search, nearest

    rows = _query_rows(model, table, query)
    mean = mean_row(_pass(model, table, "mean", progress)) if wish.center else None
    target = _sum(rows if mean is None else rows - mean, query)
    if wish.metric == "cosine" and not target.any():
        raise UsageError(
            "the query is the zero vector, which has no direction",
            "--metric euclidean finds the rows nearest to it",
        )
    search = Search(query=target, metric=Metric(wish.metric), top=wish.top, skip=skip, mean=mean)
    return nearest(_pass(model, table, "rows", progress), partial(model.blocks, table), search)


def _query_rows(
    model: Model, table: EmbeddingTable, query: Sequence[QueryToken]
) -> NDArray[np.float64]:
    import numpy as np

    from embcalc.rows.select import select_rows

    row_bytes = table.tensor.dtype.nbytes(table.width)
    rows = select_rows(partial(model.blocks, table), [token.row for token in query], row_bytes)
    for token, values in zip(query, rows, strict=True):
        if not np.isfinite(values).all():
            raise UsageError(
                f"row {token.row} holds numbers that are not finite, so nothing is near it",
                "embcalc inspect lists such rows",
            )
    return rows.astype(np.float64)


def _sum(rows: NDArray[np.float64], query: Sequence[QueryToken]) -> NDArray[np.float64]:
    total: NDArray[np.float64] = rows[0] * 0.0
    for token, values in zip(query, rows, strict=True):
        total = total - values if token.minus else total + values
    return total


def _pass(model: Model, table: EmbeddingTable, label: str, progress: Progress) -> RowPass:
    """All rows of the table, shared out among threads, with progress."""
    from embcalc.rows.parallel import Meter, RowPass, shares

    meter = Meter(label, table.rows, table.tensor.nbytes, progress)

    def stream(rows: range | None) -> Iterator[RowBlock]:
        for block in model.blocks(table, rows):
            yield block
            meter.add(len(block.values))

    row_bytes = table.tensor.dtype.nbytes(table.width)
    parts = shares(table.rows, row_bytes, model.workers)
    return RowPass(stream=stream, shares=parts, workers=model.workers)


def _advice(table: EmbeddingTable, found: Nearest, wish: _Wish) -> Iterator[str]:
    if found.undefined:
        what = "zero or not finite" if wish.metric == "cosine" else "not finite"
        rows = "row is" if found.undefined == 1 else "rows are"
        yield f"{found.undefined:,} {rows} {what} and without a score"
    telling = table.rows * table.width >= LEAST_NUMBERS
    if telling and not wish.center and abs(found.mean_cosine) > SHARED_DIRECTION:
        yield (
            f"the rows share a direction: the average row has cosine {found.mean_cosine:.2f} with "
            "the query; --center subtracts the mean row and tells neighbors apart better"
        )


def _report(  # noqa: PLR0913, PLR0917 - what a report is made of
    model: Model,
    table: EmbeddingTable,
    wish: _Wish,
    query: tuple[QueryToken, ...],
    found: Nearest,
    left_out: int,
    notes: Sequence[str],
) -> NeighborsReport:
    return NeighborsReport(
        model=model.address,
        tensor=table.name,
        role=str(table.role),
        dtype=str(table.tensor.dtype),
        table_rows=table.rows,
        width=table.width,
        tokenizer=None if model.vocabulary is None else model.vocabulary.file,
        query=query,
        metric=wish.metric,
        centered=wish.center,
        excluded=wish.exclude,
        excluded_rows=left_out,
        undefined_rows=found.undefined,
        mean_cosine=found.mean_cosine,
        neighbors=tuple(
            Neighbor(row=row, text=model.text(row), shown=model.shown(row), score=score)
            for row, score in zip(found.rows.tolist(), found.scores.tolist(), strict=True)
        ),
        rows=found.rows,
        scores=found.scores,
        notes=tuple(notes),
    )
