from __future__ import annotations

from embcalc.core.reports.trend import TrendReport
from embcalc.render.github.inspect import workflow_commands


def render(report: TrendReport) -> str:
    """Write the findings of all checkpoints as one document."""
    return workflow_commands([point.report for point in report.points])
