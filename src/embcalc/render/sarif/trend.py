from __future__ import annotations

from embcalc.core.reports.trend import TrendReport
from embcalc.render.sarif.inspect import findings_log


def render(report: TrendReport) -> str:
    """Write the findings of all checkpoints as one document."""
    return findings_log([point.report for point in report.points])
