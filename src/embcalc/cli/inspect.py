from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from embcalc.cli.exit_codes import ExitCode
from embcalc.cli.numbers import number
from embcalc.cli.options import (
    CacheOption,
    FindingsFormat,
    FindingsFormatOption,
    OutputOption,
    TensorOption,
    TokenizerOption,
)
from embcalc.cli.output import deliver, require_distinct
from embcalc.cli.rendering import rendered

ModelArguments = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL",
        help="A local file or folder, a hub id (org/name[@revision]) or an address;"
        " several checkpoints of one run give a trend.",
        show_default=False,
    ),
]
Top = Annotated[int, number("--top", "-k", help="Rows to list of each kind.")]
Rows = Annotated[
    list[str] | None,
    typer.Option("--rows", metavar="0,5-9", help="Rows to show with their first values."),
]
Bins = Annotated[
    int | None, number("--bins", help="Bins of the histogram. [default: about 20, round]")
]
Export = Annotated[
    Path | None,
    typer.Option("--export", metavar="FILE", help="Every row: .csv, .jsonl, .npy, .parquet."),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Pictures of the norms: .png or .svg."),
]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="One page with pictures and all rows."),
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on", metavar="KINDS", help="Exit with 1 on these, as in zero,nonfinite,duplicate."
    ),
]


def inspect(
    models: ModelArguments,
    tensor: TensorOption = None,
    tokenizer: TokenizerOption = None,
    top: Top = 10,
    rows: Rows = None,
    bins: Bins = None,
    export: Export = None,
    plot: Plot = None,
    html: Html = None,
    fail_on: FailOn = None,
    output_format: FindingsFormatOption = FindingsFormat.TEXT,
    _cache: CacheOption = False,
    output: OutputOption = None,
) -> None:
    """Judge every row of the embedding tables.

    Norms, and the rows that are zero, not finite, copies, far from the rest or hardly trained.

    Example: embcalc inspect MODEL
    """
    from embcalc.cli.ids import row_ranges
    from embcalc.cli.inspect_files import InspectFiles
    from embcalc.cli.progress import progress_bar
    from embcalc.core.fail_on import fail_kinds, failing
    from embcalc.errors import UsageError
    from embcalc.usecases.inspect import InspectOptions
    from embcalc.usecases.inspect import inspect as run
    from embcalc.usecases.inspect_trend import inspect_trend

    options = InspectOptions(
        tensor=tensor,
        tokenizer=tokenizer,
        top=top,
        bins=bins,
        rows=row_ranges(",".join(rows), "--rows") if rows else (),
    )
    kinds = fail_kinds(",".join(fail_on)) if fail_on else frozenset()
    files = InspectFiles(export=export, plot=plot, html=html)
    files.require(len(models))
    require_distinct(export, plot, html, output)
    if len(models) > 1 and rows and output_format is not FindingsFormat.JSON:
        raise UsageError(
            f"--rows has no effect on several checkpoints in {output_format.value}",
            hint="inspect one of them, or add --format json",
        )
    with progress_bar() as progress:
        if len(models) == 1:
            report = run(models[0], options, progress=progress)
            reports, text = [report], partial(rendered, report, "inspect")
            files.write(report)
        else:
            trend = inspect_trend(models, options, progress=progress)
            reports = [point.report for point in trend.points]
            text = partial(rendered, trend, "trend")
    deliver(text(output_format), output)
    if any(failing(each, kinds) for each in reports):
        raise typer.Exit(ExitCode.FINDINGS)
