from __future__ import annotations

from embcalc.core.findings import Finding
from embcalc.core.reports.check import CheckReport
from embcalc.render.csv.document import dumps

HEADING = ("model", "rule", "name", "severity", "file", "message", "hint", "ids")


def render(report: CheckReport) -> str:
    """Write one line a finding; ids are separated by blanks."""
    return dumps(
        HEADING,
        (finding_cells(report.model, finding) for finding in report.findings),
    )


def finding_cells(model: str, finding: Finding) -> tuple[str | None, ...]:
    """The cells of one finding, in the order of `HEADING`."""
    return (
        model,
        finding.rule,
        finding.name,
        finding.severity.value,
        finding.file,
        finding.message,
        finding.hint,
        " ".join(map(str, finding.ids)),
    )
