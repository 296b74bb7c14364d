"""The figures of each table of each checkpoint: what every format of a trend writes."""

from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.inspect import TableReport
from embcalc.core.reports.trend import TrendReport

COUNTS = ("zero", "near-zero", "nonfinite", "duplicate", "outlier")


def tensors(report: TrendReport) -> list[str]:
    """Names of the tables of all checkpoints, in order of appearance."""
    return list(dict.fromkeys(t.tensor for point in report.points for t in point.report.tables))


def rows_of(report: TrendReport, tensor: str) -> Iterator[tuple[str, int | None, TableReport]]:
    """Path, step and table of each checkpoint that has the tensor."""
    for point in report.points:
        for table in point.report.tables:
            if table.tensor == tensor:
                yield point.report.checkpoint.path, point.step, table


def counts(table: TableReport) -> tuple[int, ...]:
    """Ill rows by kind, in the order of `COUNTS`."""
    return (
        table.zero.count,
        table.near_zero.count,
        table.nonfinite.count,
        table.duplicates.count,
        table.outliers.count,
    )
