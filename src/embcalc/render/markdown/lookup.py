from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.lookup import LookupReport
from embcalc.render.markdown.document import escape, table


def render(report: LookupReport) -> str:
    """Write the ids and, for each position, its row's norm."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: LookupReport) -> Iterator[str]:
    batch, length, width = report.shape
    yield f"## Lookup in {escape(report.tensor)}"
    yield ""
    yield f"{report.rows:,} rows of {report.width:,} {report.dtype}; "
    yield f"ids [B, T] = [{batch}, {length}], vectors [B, T, d] = [{batch}, {length}, {width}]."
    yield ""
    rows = [
        (
            str(index),
            str(position),
            str(token.id),
            escape(token.shown),
            f"{report.norms[index, position]:.4f}",
            "padding" if token.padding else "",
        )
        for index, sequence in enumerate(report.sequences)
        for position, token in enumerate(sequence.tokens)
    ]
    yield from table(("b", "t", "id", "token", "norm", ""), rows, "rrrlrl")
    for note in report.notes:
        yield ""
        yield f"Note: {escape(note)}."
