from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from embcalc.cli.numbers import number
from embcalc.cli.options import (
    CacheOption,
    ModelArgument,
    OutputOption,
    RowsFormat,
    RowsFormatOption,
    TokenizerOption,
)
from embcalc.cli.output import deliver
from embcalc.cli.rendering import rendered


class MetricName(StrEnum):
    """What near means."""

    COSINE = "cosine"
    EUCLIDEAN = "euclidean"
    DOT = "dot"


class TableName(StrEnum):
    """Which table to search."""

    TOKEN = "token"  # noqa: S105 - a role, no password
    OUTPUT = "output"


class Excludable(StrEnum):
    """Kinds of rows that can be left out."""

    SPECIAL = "special"
    UNUSED = "unused"


Tokens = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TOKEN",
        help="As stored or as typed; several are added up.",
        show_default=False,
    ),
]
Row = Annotated[list[int] | None, number("--id", metavar="ROW", help="A row number, as a token.")]
Minus = Annotated[list[str] | None, typer.Option("--minus", metavar="TOKEN", help="Subtract it.")]
MinusRow = Annotated[
    list[int] | None, number("--minus-id", metavar="ROW", help="Subtract its row.")
]
Metric = Annotated[MetricName, typer.Option("--metric", help="What near means.")]
Top = Annotated[int, number("--top", "-k", help="How many neighbors.")]
Table = Annotated[TableName, typer.Option("--table", help="Which table to search.")]
Exclude = Annotated[
    list[Excludable] | None,
    typer.Option(
        "--exclude", metavar="special|unused", help="Leave such rows out; may be repeated."
    ),
]
Center = Annotated[
    bool, typer.Option("--center", help="Subtract the mean row from every row first.")
]
Tensor = Annotated[
    str | None,
    typer.Option("--tensor", metavar="NAME", help="Stored name of the table, whatever its role."),
]


def neighbors(
    model: ModelArgument,
    tokens: Tokens = None,
    row: Row = None,
    minus: Minus = None,
    minus_row: MinusRow = None,
    metric: Metric = MetricName.COSINE,
    top: Top = 10,
    table: Table = TableName.TOKEN,
    exclude: Exclude = None,
    center: Center = False,
    tokenizer: TokenizerOption = None,
    tensor: Tensor = None,
    output_format: RowsFormatOption = RowsFormat.TEXT,
    _cache: CacheOption = False,
    output: OutputOption = None,
) -> None:
    """Find the rows nearest to a token, or to a sum of tokens.

    Example: embcalc neighbors MODEL king woman --minus man
    """
    from embcalc.cli.progress import progress_bar
    from embcalc.usecases.neighbors import neighbors as find

    with progress_bar() as progress:
        report = find(
            model,
            tokens or (),
            ids=row or (),
            minus=minus or (),
            minus_ids=minus_row or (),
            metric=metric,
            top=top,
            table=table,
            exclude=exclude or (),
            center=center,
            tokenizer=tokenizer,
            tensor=tensor,
            progress=progress,
        )
    deliver(rendered(report, "neighbors", output_format), output)
