"""Findings as annotations of a GitHub workflow run."""

from __future__ import annotations

from embcalc.core.findings import Finding, Severity
from embcalc.core.reports.check_run import CheckedModel, CheckRun
from embcalc.core.wording import count
from embcalc.render.github.commands import COMMANDS, command, joined


def render(run: CheckRun) -> str:
    """One workflow command a finding, worst first, then a line for people.

    GitHub shows ten annotations of a kind in a step; the others stay in the log.
    """
    order = list(Severity)
    pairs = sorted(run.pairs(), key=lambda pair: order.index(pair[1].severity))
    lines = [
        command(
            "error", {"title": f"{item.model} cannot be checked"}, joined(item.error, item.hint)
        )
        for item in run.unreadable
    ]
    lines += [_annotation(model, finding) for model, finding in pairs]
    return "\n".join([*lines, _summary(run)]) + "\n"


def _annotation(model: CheckedModel, finding: Finding) -> str:
    path = model.path(finding.file) if finding.file else None
    properties = {
        "file": path,
        "line": "1" if path else None,
        "title": f"{finding.rule} {finding.name} ({model.report.model})",
    }
    return command(COMMANDS[finding.severity], properties, joined(finding.message, finding.hint))


def _summary(run: CheckRun) -> str:
    counts = (
        f"{len(run.models)} checked, {len(run.unreadable)} unreadable, "
        f"{count(run.count(Severity.ERROR), 'error')}, "
        f"{count(run.count(Severity.WARNING), 'warning')}, "
        f"{count(run.count(Severity.NOTE), 'note')}"
    )
    return f"embcalc: {counts}, {run.known} known" if run.known else f"embcalc: {counts}"
