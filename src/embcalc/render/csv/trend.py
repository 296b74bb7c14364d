from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.trend import TrendReport
from embcalc.render.csv.document import Cell, dumps
from embcalc.render.trend_rows import COUNTS, counts, rows_of, tensors

HEADING = ("tensor", "step", "path", "rows", "min", "median", "mean", "std", "max", *COUNTS)


def render(report: TrendReport) -> str:
    """Write one line for each table of each checkpoint."""
    return dumps(HEADING, figures(report))


def figures(report: TrendReport) -> Iterator[tuple[Cell, ...]]:
    """Cells under `HEADING`."""
    for tensor in tensors(report):
        for path, step, table in rows_of(report, tensor):
            norms = table.norms
            numbers: tuple[Cell, ...] = (
                (None,) * 5
                if norms is None
                else (norms.min, norms.percentiles[50], norms.mean, norms.std, norms.max)
            )
            yield (tensor, step, path, table.rows, *numbers, *counts(table))
