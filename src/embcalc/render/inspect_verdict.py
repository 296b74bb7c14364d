"""The one line that says how a checkpoint's rows are."""

from __future__ import annotations

from embcalc.core.findings import Severity
from embcalc.core.reports.inspect import InspectReport


def verdict(report: InspectReport) -> str:
    """`healthy: …` or the number of errors and warnings."""
    severities = [finding.severity for finding in report.findings]
    errors, warnings = severities.count(Severity.ERROR), severities.count(Severity.WARNING)
    rows = sum(table.rows for table in report.tables)
    if not errors and not warnings:
        if not report.tables:
            return "nothing was checked"
        if not rows:
            return "nothing to check: no table has a row"
        return f"healthy: no ill row among {rows:,}"
    parts = [count(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    return f"{', '.join(parts)} in {count(rows, 'row')}"


def count(number: int, word: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
