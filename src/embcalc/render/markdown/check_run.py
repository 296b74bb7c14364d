"""Findings for a job summary or a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.findings import Finding, Severity
from embcalc.core.reports.check_run import CheckedModel, CheckRun
from embcalc.core.wording import count
from embcalc.render.markdown.document import escape, table

LISTED = 50
"""Findings listed of a model; a comment on GitHub holds 65,536 characters."""
_SIGNS = {Severity.ERROR: "❌ error", Severity.WARNING: "⚠️ warning", Severity.NOTE: "note"}


def render(run: CheckRun) -> str:
    """A verdict, then a table a model."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: CheckRun) -> Iterator[str]:
    yield f"## embcalc check: {'passed ✅' if run.ok else 'failed ❌'}"
    yield ""
    yield _counts(run)
    for item in run.unreadable:
        yield ""
        yield f"### ❌ {escape(item.model)} cannot be checked"
        yield ""
        yield f"{escape(item.error)}" + (f"  \n{escape(item.hint)}" if item.hint else "")
    for model in run.models:
        yield ""
        yield from _model(model)


def _counts(run: CheckRun) -> str:
    parts = [
        count(len(run.models) + len(run.unreadable), "model"),
        count(run.count(Severity.ERROR), "error"),
        count(run.count(Severity.WARNING), "warning"),
        count(run.count(Severity.NOTE), "note"),
    ]
    if run.unreadable:
        parts.insert(1, f"{len(run.unreadable):,} unreadable")
    if run.known:
        parts.append(f"{run.known:,} known from the baseline")
    return ", ".join(parts) + "."


def _model(model: CheckedModel) -> Iterator[str]:
    report = model.report
    yield f"### {'✅' if report.ok else '❌'} {escape(report.model)}"
    if report.findings:
        rows = [_row(finding) for finding in report.findings[:LISTED]]
        yield ""
        yield from table(("", "rule", "finding", "file"), rows, "llll")
    if len(report.findings) > LISTED:
        yield ""
        yield f"… and {len(report.findings) - LISTED:,} further findings."
    if report.skipped:
        yield ""
        yield f"Not checked: {', '.join(_skipped(model))}."


def _row(finding: Finding) -> tuple[str, str, str, str]:
    text = escape(finding.message) + (f"<br>{escape(finding.hint)}" if finding.hint else "")
    rule = f"{finding.rule} {finding.name}"
    return _SIGNS[finding.severity], rule, text, escape(finding.file or "")


def _skipped(model: CheckedModel) -> Iterator[str]:
    """Rules by the reason for which they were skipped."""
    reasons: dict[str, list[str]] = {}
    for skipped in model.report.skipped:
        reasons.setdefault(skipped.reason, []).append(skipped.rule)
    for reason, rules in reasons.items():
        yield f"{' '.join(rules)} ({escape(reason)})"
