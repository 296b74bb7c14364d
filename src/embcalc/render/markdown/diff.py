from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.diff import DiffReport, TableDiff
from embcalc.render.markdown.document import escape, table


def render(report: DiffReport) -> str:
    """Write the counts of each table, then its most changed rows."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: DiffReport) -> Iterator[str]:
    yield f"## {escape(report.model_a)} → {escape(report.model_b)}"
    yield ""
    heading = ("table", "rows A", "rows B", "identical", "changed", "added", "removed", "")
    yield from table(heading, (_counts(item) for item in report.tables), "lrrrrrrl")
    for compared in report.tables:
        if compared.most_changed:
            yield ""
            yield f"### Most changed rows of {escape(compared.tensor_b)}"
            yield ""
            rows = [
                (
                    str(row.row),
                    escape(row.shown) if row.text is not None else "",
                    f"{row.delta_norm:.4g}",
                    f"{row.cosine:.4f}",
                )
                for row in compared.most_changed
            ]
            yield from table(("row", "token", "norm of B − A", "cosine"), rows, "rlrr")
    for note in report.notes:
        yield ""
        yield f"Note: {escape(note)}."


def _counts(compared: TableDiff) -> tuple[str, ...]:
    counts = (
        compared.rows_a,
        compared.rows_b,
        compared.identical_rows,
        compared.changed_rows,
        compared.added_rows,
        compared.removed_rows,
    )
    frozen = "frozen" if compared.frozen else ""
    return (escape(compared.tensor_b), *(f"{count:,}" for count in counts), frozen)
