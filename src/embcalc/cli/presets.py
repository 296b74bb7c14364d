from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from embcalc.cli.options import OutputOption, RowsFormat
from embcalc.cli.output import deliver

if TYPE_CHECKING:
    from embcalc.core.reports.presets import PresetsReport


def presets(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Only names that hold every word.", show_default=False),
    ] = None,
    output_format: Annotated[
        RowsFormat, typer.Option("--format", help="Format of the result.")
    ] = RowsFormat.TEXT,
    output: OutputOption = None,
) -> None:
    """List the models that `estimate` knows by name.

    Example: embcalc presets qwen 7b
    """
    from embcalc.usecases.presets import presets as run

    deliver(_rendered(run(words or ()), output_format), output)


def _rendered(report: PresetsReport, output_format: RowsFormat) -> str:
    from embcalc.render.csv import presets as as_csv
    from embcalc.render.json import presets as as_json
    from embcalc.render.markdown import presets as as_markdown
    from embcalc.render.text import presets as as_text

    renderers = {
        RowsFormat.TEXT: as_text.render,
        RowsFormat.JSON: as_json.render,
        RowsFormat.CSV: as_csv.render,
        RowsFormat.MARKDOWN: as_markdown.render,
    }
    return renderers[output_format](report)
