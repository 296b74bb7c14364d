from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.diff import DiffReport, TableDiff
from embcalc.render.diff_words import added_rows, cosine, delta_norm, verdicts
from embcalc.render.markdown.document import escape, table, token


def render(report: DiffReport) -> str:
    """Write the counts of each table, then its most changed rows, tying and tokenizers."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: DiffReport) -> Iterator[str]:
    yield f"## {escape(report.model_a)} → {escape(report.model_b)}"
    yield ""
    heading = ("table", "rows A", "rows B", "identical", "changed", "added", "removed")
    yield from table(heading, (_counts(item) for item in report.tables), "lrrrrrr")
    for compared in report.tables:
        yield from _table(compared)
    for line in _summary(report):
        yield ""
        yield line


def _counts(compared: TableDiff) -> tuple[str, ...]:
    counts = (
        compared.rows_a,
        compared.rows_b,
        compared.identical_rows,
        compared.changed_rows,
        compared.added_rows,
        compared.removed_rows,
    )
    return (escape(compared.tensor_b), *(f"{count:,}" for count in counts))


def _table(compared: TableDiff) -> Iterator[str]:
    yield ""
    yield f"### {escape(compared.tensor_b)}"
    yield ""
    yield (
        f"- rows of {compared.width_a:,} {compared.dtype_a} → rows of {compared.width_b:,} "
        f"{compared.dtype_b}"
    )
    for verdict in verdicts(compared):
        yield f"- {verdict}"
    if compared.added is not None:
        yield f"- {added_rows(compared.added)}"
    if compared.most_changed:
        yield ""
        rows = (
            (str(row.row), token(row.text, row.shown), delta_norm(row), cosine(row))
            for row in compared.most_changed
        )
        yield from table(("row", "token", "norm of B − A", "cosine"), rows, "rlrr")


def _summary(report: DiffReport) -> Iterator[str]:
    for side, names in (("A", report.only_a), ("B", report.only_b)):
        if names:
            yield f"Only in {side}: {', '.join(map(escape, names))}."
    yield f"Tying: {report.tying_a} in A, {report.tying_b} in B."
    words = report.vocabularies
    if words is not None and words.same:
        yield f"Tokenizers: the same {words.size_a:,} tokens under the same ids."
    elif words is not None:
        yield (
            f"Tokenizers: {words.size_a:,} tokens in A, {words.size_b:,} in B; "
            f"{len(words.moved):,} moved, {len(words.added):,} added, "
            f"{len(words.removed):,} removed."
        )
    for note in report.notes:
        yield f"Note: {escape(note)}."
