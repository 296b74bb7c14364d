from __future__ import annotations

import textwrap
from collections.abc import Iterator

from embcalc.core.reports.lookup import LookupReport, LookupToken, OneHot
from embcalc.core.wording import count
from embcalc.render.layout import (
    WIDTH,
    cell_width,
    clip,
    clip_middle,
    decimal_size,
    isolated,
    quoted,
    safe,
    table,
)
from embcalc.render.numbers import decimals
from embcalc.render.text.notes import note_lines, token_name, wrapped

CAUTION = (
    "these are rows of the table, before any layer: a token has the same vector in every text. "
    "They are not sentence embeddings."
)
FIRST_VALUES = 4
TOKEN_WIDTH = 16
MAX_ROWS = 200
"""Lines of the table of vectors; --format json, csv and markdown give them all."""


def render(report: LookupReport) -> str:
    """Write the steps as a textbook would: text, tokens, ids, rows."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: LookupReport) -> Iterator[str]:
    size = f": {count(report.rows, 'row')} of {report.width:,} {report.dtype}"
    yield clip_middle(safe(report.tensor), WIDTH - len(size)) + size
    if any(sequence.text is not None for sequence in report.sequences):
        yield ""
        yield from _text_to_tokens(report)
    yield ""
    yield from _ids(report)
    yield ""
    yield from _rows(report)
    if report.one_hot is not None:
        yield ""
        yield from _one_hot(report, report.one_hot)
    yield ""
    yield from note_lines((*report.notes, CAUTION))


def _text_to_tokens(report: LookupReport) -> Iterator[str]:
    yield f"text -> tokens  ({safe(report.tokenizer or '')})"
    for number, sequence in enumerate(report.sequences):
        if sequence.text is not None:
            tokens = " | ".join(_name(token) for token in sequence.tokens if not token.padding)
            text = isolated(clip(quoted(sequence.text), 30))
            yield clip(f"  {number}  {text} -> {tokens or '(nothing)'}", WIDTH)


def _ids(report: LookupReport) -> Iterator[str]:
    batch, length, _ = report.shape
    yield f"tokens -> ids  [B, T] = [{batch}, {length}]"
    digits = max((len(str(token)) for row in report.ids for token in row), default=1)
    for number, sequence in enumerate(report.sequences):
        cells = [
            f"{token.id:>{digits}}" + ("*" if token.padding else " ") for token in sequence.tokens
        ]
        body = " ".join(cells).rstrip()
        yield from textwrap.wrap(
            f"[{body}]", WIDTH, initial_indent=f"  {number}  ", subsequent_indent="      "
        )
    if any(token.padding for sequence in report.sequences for token in sequence.tokens):
        yield _padding_legend(report)


def _padding_legend(report: LookupReport) -> str:
    if report.pad_id is None:
        return "  * padding: no pad id is declared, 0 stands in"
    return f"  * padding: id {report.pad_id}, from {safe(report.pad_source or '')}"


def _rows(report: LookupReport) -> Iterator[str]:
    batch, length, width = report.shape
    yield f"ids -> rows  [B, T, d] = [{batch}, {length}, {width}]"
    places = list(_folded(report))
    for shown in range(min(FIRST_VALUES, width), -1, -1):
        lines = _table(report, places[:MAX_ROWS], shown)
        if shown == 0 or max(map(cell_width, lines)) <= WIDTH:
            break
    yield from lines
    if len(places) > MAX_ROWS:
        yield f"  … {len(places) - MAX_ROWS:,} more: --format csv has them all"
    yield from _repeats(report)


def _table(
    report: LookupReport, places: list[tuple[int, int, LookupToken]], shown: int
) -> list[str]:
    """The table with the first `shown` numbers of each row."""
    columns = (f"[{column}]" for column in range(shown))
    heading = ("b", "t", "id", "token", "norm", *columns)
    rows = [_row(report, *place, shown) for place in places]
    return table([heading, *rows], "rrrlr" + "r" * shown)


def _row(
    report: LookupReport, index: int, position: int, token: LookupToken, shown: int
) -> tuple[str, ...]:
    vector = report.vectors[index, position]
    last = report.shape[1] - 1
    return (
        str(index),
        f"{position}-{last}" if token.padding and position < last else str(position),
        f"{token.id}{'*' if token.padding else ' '}",
        _name(token),
        decimals(report.norms[index, position]),
        *(f"{value:.3g}" for value in vector[:shown]),
    )


def _folded(report: LookupReport) -> Iterator[tuple[int, int, LookupToken]]:
    """All positions, of the padding of a sequence the first alone."""
    for index, position, token in _positions(report):
        if not token.padding or position == report.sequences[index].length:
            yield index, position, token


def _positions(report: LookupReport) -> Iterator[tuple[int, int, LookupToken]]:
    for index, sequence in enumerate(report.sequences):
        for position, token in enumerate(sequence.tokens):
            yield index, position, token


def _repeats(report: LookupReport) -> Iterator[str]:
    """Say of the first token that stands in several places that its row is the same."""
    places: dict[int, list[str]] = {}
    for index, position, token in _positions(report):
        if not token.padding and not token.template:
            places.setdefault(token.id, []).append(f"H[{index},{position}]")
    for token_id, where in places.items():
        if len(where) > 1:
            same = " = ".join(where[:4])
            yield f"  same token, same row: {same} (id {token_id})"
            return


def _one_hot(report: LookupReport, one_hot: OneHot) -> Iterator[str]:
    batch, length, width = report.shape
    yield f"one-hot [{batch}, {length}, {report.rows:,}] x table [{report.rows:,}, {width:,}]"
    if one_hot.max_difference == 0:
        yield "  gives the same vectors: the largest difference is 0"
    elif one_hot.max_difference > 0:
        yield f"  largest difference to the rows: {one_hot.max_difference:.3g}"
    else:
        yield from wrapped(
            "  does not give the rows: the table holds a number that is not finite, and 0 times "
            "it is NaN"
        )
    yield (
        f"  costs {decimal_size(one_hot.one_hot_bytes)} and {one_hot.flops:,} operations; "
        f"the lookup copies {decimal_size(one_hot.lookup_bytes)}"
    )


def _name(token: LookupToken) -> str:
    return token_name(None if token.text is None else token.shown, TOKEN_WIDTH)
