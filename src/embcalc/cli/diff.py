from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from embcalc.cli.exit_codes import ExitCode
from embcalc.cli.numbers import whole_number
from embcalc.cli.options import CacheOption, OutputOption, RowsFormat
from embcalc.cli.output import deliver
from embcalc.cli.rendering import rendered

ADDRESS = "A local file or folder, a hub id or an address, as for the other commands."


class Failure(StrEnum):
    """What exit code 1 may be asked for."""

    CHANGED = "changed"
    SHAPE = "shape"


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help=ADDRESS, show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help=ADDRESS, show_default=False)],
    fail_on: Annotated[
        list[Failure] | None,
        typer.Option(
            "--fail-on",
            help="Exit with 1 when any row was changed, added or removed, or when a shape differs.",
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            "--top",
            "-k",
            metavar="N",
            parser=whole_number("--top"),
            help="Most changed rows to list.",
        ),
    ] = 10,
    tensor: Annotated[
        str | None, typer.Option(help="Stored name of the one table. [default: all tables]")
    ] = None,
    tokenizer_a: Annotated[
        str | None, typer.Option(metavar="PATH", help="A's tokenizer. [default: the one beside it]")
    ] = None,
    tokenizer_b: Annotated[
        str | None, typer.Option(metavar="PATH", help="B's tokenizer. [default: the one beside it]")
    ] = None,
    output_format: Annotated[
        RowsFormat, typer.Option("--format", help="Format of the result.")
    ] = RowsFormat.TEXT,
    _cache: CacheOption = False,
    output: OutputOption = None,
) -> None:
    """Compare tables and tokenizers of two checkpoints.

    Example: embcalc diff BASE FINE-TUNED
    """
    from embcalc.cli.progress import progress_bar
    from embcalc.usecases.diff import diff as compare

    with progress_bar() as progress:
        report = compare(
            a,
            b,
            top=top,
            tensor=tensor,
            tokenizer_a=tokenizer_a,
            tokenizer_b=tokenizer_b,
            progress=progress,
        )
    deliver(rendered(report, "diff", output_format), output)
    wanted = fail_on or ()
    failed = (Failure.CHANGED in wanted and report.changed) or (
        Failure.SHAPE in wanted and report.reshaped
    )
    raise typer.Exit(ExitCode.FINDINGS if failed else ExitCode.OK)
