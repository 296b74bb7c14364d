from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from embcalc.cli.options import ModelArgument, OutputOption, RowsFormat, TokenizerOption
from embcalc.cli.output import deliver

if TYPE_CHECKING:
    from embcalc.core.reports.inspect import InspectReport


def inspect(
    model: ModelArgument,
    tensor: Annotated[
        str | None, typer.Option(help="Stored name of the one table. [default: all tables]")
    ] = None,
    tokenizer: TokenizerOption = None,
    top: Annotated[int, typer.Option(help="Rows to list of each kind.")] = 10,
    rows: Annotated[
        str | None, typer.Option(metavar="0,5-9", help="Rows to show with their first values.")
    ] = None,
    bins: Annotated[
        int | None, typer.Option(help="Bins of the histogram. [default: about 20, round]")
    ] = None,
    output_format: Annotated[
        RowsFormat, typer.Option("--format", help="Format of the result.")
    ] = RowsFormat.TEXT,
    output: OutputOption = None,
) -> None:
    """Judge every row of the embedding tables: norms, zero, non-finite, duplicate rows.

    Example: embcalc inspect MODEL
    """
    from embcalc.cli.ids import row_ranges
    from embcalc.cli.progress import progress_bar
    from embcalc.usecases.inspect import InspectOptions
    from embcalc.usecases.inspect import inspect as run

    options = InspectOptions(
        tensor=tensor,
        tokenizer=tokenizer,
        top=top,
        bins=bins,
        rows=row_ranges(rows, "--rows") if rows is not None else (),
    )
    with progress_bar() as progress:
        report = run(model, options, progress=progress)
    deliver(_rendered(report, output_format), output)


def _rendered(report: InspectReport, output_format: RowsFormat) -> str:
    from embcalc.render.json import inspect as as_json
    from embcalc.render.text import inspect as as_text

    if output_format is RowsFormat.JSON:
        return as_json.render(report)
    return as_text.render(report)
