from __future__ import annotations

from embcalc.core.reports.trend import TrendReport
from embcalc.render.junit.inspect import suites


def render(report: TrendReport) -> str:
    """Write the findings of all checkpoints as one document."""
    return suites([point.report for point in report.points])
