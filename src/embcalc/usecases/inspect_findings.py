"""What of a table's numbers a reader should know first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from embcalc.core.findings import Severity
from embcalc.core.reports.inspect import RowFinding, TableReport
from embcalc.core.tying import Tying

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


def findings(tables: Sequence[TableReport], tying: Tying) -> tuple[RowFinding, ...]:
    """All findings, errors first."""
    found = list(_about_tying(tying))
    for table in tables:
        for check in CHECKS:
            found.extend(check(table))
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


def _about_tying(tying: Tying) -> Iterator[RowFinding]:
    if tying.verdict in ("conflict", "head-missing"):
        yield RowFinding(name="tying", severity=Severity.ERROR, message=tying.reason)


def _nonfinite(table: TableReport) -> Iterator[RowFinding]:
    if table.nonfinite.count:
        yield RowFinding(
            name="nonfinite",
            severity=Severity.ERROR,
            message=f"{_rows(table.nonfinite.count)} with NaN or infinity",
            hint="training diverged or the file was damaged: go back to an earlier checkpoint",
            tensor=table.tensor,
            rows=table.nonfinite.rows,
        )


def _zero(table: TableReport) -> Iterator[RowFinding]:
    if table.zero.count:
        yield RowFinding(
            name="zero",
            severity=Severity.WARNING if table.zero.count > 1 else Severity.NOTE,
            message=f"{_rows(table.zero.count)} exactly zero",
            tensor=table.tensor,
            rows=table.zero.rows,
        )


def _near_zero(table: TableReport) -> Iterator[RowFinding]:
    if table.near_zero.count:
        yield RowFinding(
            name="near-zero",
            severity=Severity.WARNING,
            message=f"{_rows(table.near_zero.count)} near zero (norm ≤ 1/1000 of the median)",
            tensor=table.tensor,
            rows=table.near_zero.rows,
        )


def _duplicate(table: TableReport) -> Iterator[RowFinding]:
    if table.duplicates.count:
        groups = len(table.duplicates.groups)
        yield RowFinding(
            name="duplicate",
            severity=Severity.WARNING,
            message=f"{_rows(table.duplicates.count)} equal to an earlier row, {groups} groups",
            tensor=table.tensor,
            rows=tuple(row for group in table.duplicates.groups for row in group),
        )


def _outlier(table: TableReport) -> Iterator[RowFinding]:
    if table.outliers.count:
        yield RowFinding(
            name="outlier",
            severity=Severity.NOTE,
            message=f"{_rows(table.outliers.count)} with a norm far from the others",
            tensor=table.tensor,
            rows=table.outliers.rows,
        )


def _rows(count: int) -> str:
    return f"{count:,} row{'s' if count != 1 else ''}"


CHECKS: tuple[Callable[[TableReport], Iterator[RowFinding]], ...] = (
    _nonfinite,
    _zero,
    _near_zero,
    _duplicate,
    _outlier,
)
