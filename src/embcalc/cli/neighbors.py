from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from embcalc.cli.numbers import whole_number
from embcalc.cli.options import (
    CacheOption,
    ModelArgument,
    OutputOption,
    RowsFormat,
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


def neighbors(
    model: ModelArgument,
    tokens: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOKEN]...",
            help="As stored or as typed; several are added up.",
            show_default=False,
        ),
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option(
            "--id", metavar="ROW", parser=whole_number("--id"), help="A row number, as a token."
        ),
    ] = None,
    minus: Annotated[
        list[str] | None, typer.Option("--minus", metavar="TOKEN", help="Subtract it.")
    ] = None,
    minus_row: Annotated[
        list[int] | None,
        typer.Option(
            "--minus-id", metavar="ROW", parser=whole_number("--minus-id"), help="Subtract its row."
        ),
    ] = None,
    metric: Annotated[MetricName, typer.Option(help="What near means.")] = MetricName.COSINE,
    top: Annotated[
        int,
        typer.Option(
            "--top", "-k", metavar="N", parser=whole_number("--top"), help="How many neighbors."
        ),
    ] = 10,
    table: Annotated[TableName, typer.Option(help="Which table to search.")] = TableName.TOKEN,
    exclude: Annotated[
        list[Excludable] | None, typer.Option(help="Leave such rows out; may be repeated.")
    ] = None,
    center: Annotated[
        bool, typer.Option("--center", help="Subtract the mean row from every row first.")
    ] = False,
    tokenizer: TokenizerOption = None,
    tensor: Annotated[
        str | None, typer.Option(help="Stored name of the table, whatever its role.")
    ] = None,
    output_format: Annotated[
        RowsFormat, typer.Option("--format", help="Format of the result.")
    ] = RowsFormat.TEXT,
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
