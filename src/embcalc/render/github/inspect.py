"""What `inspect` found as annotations of a GitHub workflow run."""

from __future__ import annotations

from collections.abc import Sequence

from embcalc.core.findings import Severity
from embcalc.core.reports.inspect import InspectReport, RowFinding
from embcalc.core.wording import count
from embcalc.render.github.commands import COMMANDS, command, joined


def render(report: InspectReport) -> str:
    """One workflow command a finding, worst first, then a line for people."""
    return workflow_commands([report])


def workflow_commands(reports: Sequence[InspectReport]) -> str:
    """The commands for checkpoints."""
    order = list(Severity)
    pairs = [(report.checkpoint.path, each) for report in reports for each in report.findings]
    pairs.sort(key=lambda pair: order.index(pair[1].severity))
    lines = [_annotation(path, finding) for path, finding in pairs]
    sums = (
        count(sum(finding.severity is severity for _, finding in pairs), severity.value)
        for severity in order
    )
    summary = f"embcalc: {len(reports)} inspected, {', '.join(sums)}"
    return "\n".join([*lines, summary]) + "\n"


def _annotation(path: str, finding: RowFinding) -> str:
    where = f"{path}, {finding.tensor}" if finding.tensor else path
    title = f"{finding.name} ({where})"
    return command(
        COMMANDS[finding.severity], {"title": title}, joined(finding.message, finding.hint)
    )
