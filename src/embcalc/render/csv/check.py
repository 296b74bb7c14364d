from __future__ import annotations

from embcalc.core.reports.check import CheckReport
from embcalc.render.csv.document import dumps

HEADING = ("model", "rule", "name", "severity", "file", "message", "hint", "ids")


def render(report: CheckReport) -> str:
    """Write one line a finding; ids are separated by blanks."""
    return dumps(
        HEADING,
        (
            (
                report.model,
                finding.rule,
                finding.name,
                finding.severity.value,
                finding.file,
                finding.message,
                finding.hint,
                " ".join(map(str, finding.ids)),
            )
            for finding in report.findings
        ),
    )
