from __future__ import annotations

from embcalc.core.reports.diff import DiffReport
from embcalc.render.csv.document import dumps


def render(report: DiffReport) -> str:
    """One line for each of the most changed rows of each table."""
    return dumps(
        ("tensor", "row", "token", "delta_norm", "cosine"),
        (
            (table.tensor_b, row.row, row.text, row.delta_norm, row.cosine)
            for table in report.tables
            for row in table.most_changed
        ),
    )
