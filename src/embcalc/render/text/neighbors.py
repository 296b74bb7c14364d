from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.neighbors import Neighbor, NeighborsReport, QueryToken
from embcalc.core.wording import count
from embcalc.render.layout import WIDTH, clip_middle, safe, table
from embcalc.render.numbers import decimals
from embcalc.render.text.notes import folded, note_lines, token_name

TOKEN_WIDTH = 40
SCORES = {"cosine": "cosine", "euclidean": "distance", "dot": "dot product"}
CAUTION = (
    "these are rows of one table, not meanings in a sentence: they show how a token is stored, "
    "and are no search engine"
)


def render(report: NeighborsReport) -> str:
    """Write the nearest rows, best first."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: NeighborsReport) -> Iterator[str]:
    size = f": {count(report.table_rows, 'row')} of {report.width:,} {report.dtype}"
    yield clip_middle(safe(report.tensor), WIDTH - len(size)) + size
    centered = ", mean row subtracted" if report.centered else ""
    yield from folded(f"nearest to {expression(report.query)} by {report.metric}{centered}")
    yield ""
    heading = ("row", "token", SCORES[report.metric])
    rows = [(str(item.row), _name(item), decimals(item.score)) for item in report.neighbors]
    yield from table([heading, *rows], "rlr")
    if not rows:
        yield "  none: every other row is left out or has no score"
    yield ""
    if report.excluded:
        kinds = " and ".join(report.excluded)
        yield f"left out: {report.excluded_rows:,} {kinds} rows"
    yield from note_lines((*report.notes, CAUTION))


def expression(query: tuple[QueryToken, ...]) -> str:
    """Write the query as a sum: `king - man + woman (rows 2332, 2158, 2450)`."""
    first, *rest = query
    terms = [_term(first)] + [f"{'-' if term.minus else '+'} {_term(term)}" for term in rest]
    return " ".join(terms)


def _term(token: QueryToken) -> str:
    if token.text is None:
        return f"row {token.row}"
    return f"{token_name(token.shown, TOKEN_WIDTH)} ({token.row})"


def _name(item: Neighbor) -> str:
    return token_name(None if item.text is None else item.shown, TOKEN_WIDTH)
