from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.neighbors import NeighborsReport
from embcalc.core.wording import count
from embcalc.render.markdown.document import escape, table, token
from embcalc.render.numbers import decimals


def render(report: NeighborsReport) -> str:
    """Write the nearest rows as a table, best first."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: NeighborsReport) -> Iterator[str]:
    first, *rest = report.query
    terms = [escape(first.shown or f"row {first.row}")]
    terms += [
        f"{'−' if term.minus else '+'} {escape(term.shown or f'row {term.row}')}" for term in rest
    ]
    yield f"## Nearest to {' '.join(terms)}"
    yield ""
    size = count(report.table_rows, "row")
    yield f"{escape(report.tensor)}: {size} of {report.width:,} {report.dtype}."
    yield ""
    rows = [
        (str(item.row), token(item.text, item.shown), decimals(item.score))
        for item in report.neighbors
    ]
    yield from table(("row", "token", report.metric), rows, "rlr")
    for note in report.notes:
        yield ""
        yield f"Note: {escape(note)}."
