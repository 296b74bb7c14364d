from __future__ import annotations

from embcalc.core.reports.inspect import InspectReport
from embcalc.render.csv.document import dumps
from embcalc.render.row_records import RowRecord, row_records


def render(report: InspectReport) -> str:
    """Write every row of every table: id, token, norm, flags, tensor."""
    return dumps(RowRecord._fields, (_cells(record) for record in row_records(report)))


def _cells(record: RowRecord) -> tuple[int, str | None, float, str, str]:
    return record.id, record.token, record.norm, " ".join(record.flags), record.tensor
