from __future__ import annotations

from typing import Annotated

import typer

from embcalc.cli.options import OutputOption, RowsFormat, RowsFormatOption
from embcalc.cli.output import deliver
from embcalc.cli.rendering import rendered


def presets(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Only names that hold every word.", show_default=False),
    ] = None,
    output_format: RowsFormatOption = RowsFormat.TEXT,
    output: OutputOption = None,
) -> None:
    """List the models that `estimate` knows by name.

    Example: embcalc presets qwen 7b
    """
    from embcalc.usecases.presets import presets as run

    deliver(rendered(run(words or ()), "presets", output_format), output)
