from __future__ import annotations

from embcalc.core.reports.demo import DemoReport
from embcalc.render.json.document import dumps


def render(report: DemoReport) -> str:
    """Write `embcalc/demo/v1`."""
    return dumps(
        {"schema": "embcalc/demo/v1", "folder": report.folder, "files": list(report.files)}
    )
