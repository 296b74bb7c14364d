from __future__ import annotations

from embcalc.core.reports.trend import TrendReport
from embcalc.render.json.document import dumps
from embcalc.render.json.inspect import document


def render(report: TrendReport) -> str:
    """Write `embcalc/inspect-trend/v1`: one embcalc/inspect/v1 a checkpoint, with its step."""
    return dumps(
        {
            "schema": "embcalc/inspect-trend/v1",
            "checkpoints": [
                {"step": point.step, "report": document(point.report)} for point in report.points
            ],
        }
    )
