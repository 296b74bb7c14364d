from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.memory import Bytes
from embcalc.core.reports.estimate import EstimateReport, MemoryRow
from embcalc.render.csv.document import Cell, dumps

HEADING = (
    "tied",
    "precision",
    "optimizer",
    "table",
    "rows",
    "width",
    "parameters",
    "trainable_parameters",
    "weights",
    "gradients",
    "master_weights",
    "exp_avg",
    "exp_avg_sq",
    "optimizer_state",
    "total",
)


def render(report: EstimateReport) -> str:
    """Write bytes, a line for each regime and table and one for all tables together."""
    variants = (report,) if report.alternative is None else (report.alternative, report)
    return dumps(HEADING, (line for variant in variants for line in _lines(variant)))


def _lines(report: EstimateReport) -> Iterator[tuple[Cell, ...]]:
    for row in report.memory:
        front = (report.model.tied, row.regime.name, row.optimizer)
        for table, size in zip(report.tables, row.tables, strict=True):
            sizes = (table.rows, table.width, table.parameters, table.trainable_parameters)
            yield (*front, table.role.value, *sizes, *_bytes(size))
        yield (*front, "all", None, None, *_totals(report, row))


def _totals(report: EstimateReport, row: MemoryRow) -> tuple[Cell, ...]:
    return (report.parameters.total, report.parameters.trainable, *_bytes(row.bytes))


def _bytes(size: Bytes) -> tuple[Cell, ...]:
    return (
        size.weights,
        size.gradients,
        size.master_weights,
        size.exp_avg,
        size.exp_avg_sq,
        size.optimizer_state,
        size.total,
    )
