"""Every row of a report's tables, one record each: what exports and row formats write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from embcalc.core.reports.inspect import InspectReport, TableReport


class RowRecord(NamedTuple):
    """One row of one table."""

    id: int
    token: str | None
    norm: float
    flags: tuple[str, ...]
    tensor: str


def row_records(report: InspectReport) -> Iterator[RowRecord]:
    """All rows of all tables."""
    for table in report.tables:
        yield from table_records(table)


def table_records(table: TableReport) -> Iterator[RowRecord]:
    """All rows of one table."""
    data = table.data
    flagged: dict[int, list[str]] = {}
    for name, mask in (*data.flags.items(), ("special", data.special)):
        for row in mask.nonzero()[0].tolist():
            flagged.setdefault(row, []).append(name)
    for row, norm in enumerate(data.norms.tolist()):
        token = data.tokens[row] if data.tokens else None
        yield RowRecord(row, token, norm, tuple(flagged.get(row, ())), table.tensor)
