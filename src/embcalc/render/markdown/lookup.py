from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.lookup import LookupReport, LookupToken
from embcalc.core.wording import count
from embcalc.render.markdown.document import escape, table, token
from embcalc.render.numbers import decimals


def render(report: LookupReport) -> str:
    """Write the ids and, for each position, its row's norm."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: LookupReport) -> Iterator[str]:
    batch, length, width = report.shape
    yield f"## Lookup in {escape(report.tensor)}"
    yield ""
    yield (
        f"{count(report.rows, 'row')} of {report.width:,} {report.dtype}; ids "
        f"[B, T] = [{batch}, {length}], vectors [B, T, d] = [{batch}, {length}, {width}]."
    )
    yield ""
    yield from table(("b", "t", "id", "token", "norm", ""), _rows(report), "rrrlrl")
    for line in _summary(report):
        yield ""
        yield line


def _rows(report: LookupReport) -> Iterator[tuple[str, ...]]:
    for index, sequence in enumerate(report.sequences):
        for position, item in enumerate(sequence.tokens):
            norm = decimals(float(report.norms[index, position]))
            name = token(item.text, item.shown)
            yield str(index), str(position), str(item.id), name, norm, _kind(item)


def _kind(item: LookupToken) -> str:
    if item.padding:
        return "padding"
    return "template" if item.template else ""


def _summary(report: LookupReport) -> Iterator[str]:
    one_hot = report.one_hot
    if one_hot is not None:
        yield (
            f"One-hot times table: largest difference {one_hot.max_difference:.3g}, "
            f"{one_hot.one_hot_bytes:,} bytes and {one_hot.flops:,} operations; the lookup copies "
            f"{one_hot.lookup_bytes:,} bytes."
        )
    for note in report.notes:
        yield f"Note: {escape(note)}."
