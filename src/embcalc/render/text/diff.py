from __future__ import annotations

from collections.abc import Iterator, Sequence

from embcalc.core.reports.diff import ChangedRow, DiffReport, TableDiff, VocabularyDiff
from embcalc.render.diff_words import added_rows, cosine, delta_norm, verdicts
from embcalc.render.layout import WIDTH, clip, clip_middle, isolated, safe, table
from embcalc.render.text.notes import folded, note_lines, token_name, wrapped

TOKEN_WIDTH = 30
LISTED = 5
"""Tokens to name of each kind; --format json has more."""


def render(report: DiffReport) -> str:
    """Write what differs, table by table, then the tokenizers."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: DiffReport) -> Iterator[str]:
    yield clip_middle(f"A  {safe(report.model_a)}", WIDTH)
    yield clip_middle(f"B  {safe(report.model_b)}", WIDTH)
    for compared in report.tables:
        yield ""
        yield from _table(compared)
    for side, names in (("A", report.only_a), ("B", report.only_b)):
        for name in names:
            yield ""
            yield clip(f"{safe(name)}: only in {side}", WIDTH)
    yield ""
    changed = "  <- changed" if report.retied else ""
    if {report.tying_a, report.tying_b} != {"unknown"}:
        yield f"tying: {report.tying_a} in A, {report.tying_b} in B{changed}"
    if report.vocabularies is not None:
        yield from _vocabularies(report.vocabularies)
    yield from note_lines(report.notes)


def _table(compared: TableDiff) -> Iterator[str]:
    yield clip(safe(compared.tensor_b), WIDTH)
    if compared.tensor_a != compared.tensor_b:
        yield clip(f"  in A: {safe(compared.tensor_a)}", WIDTH)
    yield (
        f"  {compared.rows_a:,} x {compared.width_a:,} {compared.dtype_a} -> "
        f"{compared.rows_b:,} x {compared.width_b:,} {compared.dtype_b}"
    )
    if compared.comparable:
        yield from _counts(compared)
    for verdict in verdicts(compared):
        yield from wrapped(f"  {verdict}")
    if compared.added is not None:
        yield from wrapped(f"  {added_rows(compared.added)}")
    if compared.most_changed:
        yield ""
        yield from table(_changed_rows(compared.most_changed), "rlrr")


def _counts(compared: TableDiff) -> Iterator[str]:
    counts = [
        ("identical rows", compared.identical_rows),
        ("changed rows", compared.changed_rows),
        ("added rows", compared.added_rows),
        ("removed rows", compared.removed_rows),
    ]
    yield from table([(name, f"{count:,}") for name, count in counts], "lr")


def _changed_rows(rows: Sequence[ChangedRow]) -> list[tuple[str, str, str, str]]:
    lines = [("row", "token", "|B - A|", "cosine")]
    for row in rows:
        name = token_name(None if row.text is None else row.shown, TOKEN_WIDTH)
        lines.append((str(row.row), name, delta_norm(row), cosine(row)))
    return lines


def _vocabularies(words: VocabularyDiff) -> Iterator[str]:
    if words.same:
        yield f"tokenizers: the same {words.size_a:,} tokens under the same ids"
        return
    yield f"tokenizers: {words.size_a:,} tokens -> {words.size_b:,}"
    moved = [f"{_word(token.text)} {token.id_a} -> {token.id_b}" for token in words.moved]
    added = [f"{_word(text)} ({token})" for token, text in words.added]
    removed = [f"{_word(text)} ({token})" for token, text in words.removed]
    for kind, names in (("moved", moved), ("added", added), ("removed", removed)):
        if names:
            more = f", and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
            listed = ", ".join(clip(name, TOKEN_WIDTH) for name in names[:LISTED])
            yield from folded(f"  {len(names):,} {kind}: {listed}{more}")


def _word(text: str) -> str:
    return isolated(safe(text))
