from __future__ import annotations

from embcalc.core.reports.neighbors import NeighborsReport
from embcalc.render.csv.document import dumps


def render(report: NeighborsReport) -> str:
    """One line a neighbor, best first."""
    return dumps(
        ("rank", "row", "token", report.metric),
        (
            (rank, item.row, item.text, item.score)
            for rank, item in enumerate(report.neighbors, start=1)
        ),
    )
