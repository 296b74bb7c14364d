from __future__ import annotations

import shlex

from embcalc.core.reports.demo import DemoReport
from embcalc.render.layout import safe


def render(report: DemoReport) -> str:
    """Name the files, and two commands to try on them."""
    place = safe(shlex.quote(report.folder))
    return (
        f"wrote {', '.join(report.files)} to {place}\ntry:\n"
        f"  embcalc inspect {place}\n  embcalc check-vocab {place}\n"
    )
