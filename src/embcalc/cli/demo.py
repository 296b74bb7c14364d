from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embcalc.cli.options import Format, OutputOption
from embcalc.cli.output import deliver
from embcalc.cli.rendering import rendered


def demo(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A folder to make, or an empty one. [default: embcalc-demo]",
            show_default=False,
        ),
    ] = Path("embcalc-demo"),
    output_format: Annotated[
        Format,
        typer.Option("--format", help="Format of the result. [default: text]", show_default=False),
    ] = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Write a tiny, complete model to try the commands on.

    Example: embcalc demo tiny
    """
    from embcalc.core.reports.demo import DemoReport
    from embcalc.usecases.demo import write_demo

    report = DemoReport(folder=str(folder), files=write_demo(folder))
    deliver(rendered(report, "demo", output_format), output)
