from __future__ import annotations

from embcalc.core.reports.trend import TrendReport
from embcalc.render.github.inspect import annotations


def render(report: TrendReport) -> str:
    """Write the findings of all checkpoints as one document."""
    return annotations([point.report for point in report.points])
