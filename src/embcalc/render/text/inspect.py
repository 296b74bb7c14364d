"""The health of a checkpoint's tables: verdict, findings, then each table's numbers."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from embcalc.core.reports.inspect import (
    Candidate,
    InspectReport,
    RowFinding,
    RowNorm,
    TableReport,
    Undertrained,
)
from embcalc.render.inspect_verdict import count, verdict
from embcalc.render.layout import (
    WIDTH,
    cell_width,
    clip,
    clip_middle,
    decimal_size,
    isolated,
    safe,
    table,
)
from embcalc.render.numbers import number
from embcalc.render.text.histogram import bars

_BARS_FROM = 64
"""Rows from which a histogram says more than the rows themselves."""
_TOKEN_WIDTH = 20
_ROWS_NAMED = 12


def render(report: InspectReport) -> str:
    """Lay out a report in 80 columns."""
    lines = [*_head(report)]
    for finding in report.findings:
        lines += ["", *_finding(report, finding)]
    for each in report.tables:
        lines += ["", *_table(each)]
    lines += [*_selected(report), *_skipped(report)]
    return "\n".join(lines) + "\n"


def _head(report: InspectReport) -> Iterator[str]:
    facts = report.checkpoint
    yield clip(safe(facts.path), WIDTH)
    yield f"  verdict: {verdict(report)}"
    files = f"{facts.files} files, " if facts.files > 1 else ""
    yield (
        f"  {facts.format}, {files}{count(facts.tensors, 'tensor')}, "
        f"{facts.parameters:,} parameters, {decimal_size(facts.nbytes)}"
    )
    yield from _wrapped(f"head: {report.tying.verdict} ({safe(report.tying.reason)})", "  ")
    if report.tokenizer:
        yield f"  tokens: {clip(safe(report.tokenizer), 60)}"
    elif any(each.tensor == "tokenizer" for each in report.skipped):
        yield "  tokens: the tokenizer cannot be read, see the end"
    else:
        yield "  tokens: no tokenizer found; --tokenizer names one"


def _finding(report: InspectReport, finding: RowFinding) -> Iterator[str]:
    lead = f"{finding.severity}: "
    where = _where(report, finding.tensor)
    yield from _wrapped(f"{lead}{where}{safe(finding.message)}", "", "  ")
    if finding.rows:
        yield from _row_list(report, finding)
    if finding.hint:
        yield from _wrapped(f"hint: {safe(finding.hint)}", "  ")


def _where(report: InspectReport, tensor: str | None) -> str:
    """The table that a finding is about: its role where that is enough to know it."""
    if tensor is None or len(report.tables) < 2:
        return ""
    roles = {each.tensor: each.role for each in report.tables}
    role = roles.get(tensor)
    if role is None or Counter(roles.values())[role] > 1:
        return f"{safe(tensor)}: "
    return f"{role.replace('_', ' ')} table: "


def _row_list(report: InspectReport, finding: RowFinding) -> list[str]:
    tokens = next((t.data.tokens for t in report.tables if t.tensor == finding.tensor), None)
    shown = [_named(row, tokens) for row in finding.rows[:_ROWS_NAMED]]
    if len(finding.rows) > len(shown):
        shown.append("…")
    return _flowed("rows ", shown)


def _named(row: int, tokens: Sequence[str | None] | None) -> str:
    token = tokens[row] if tokens and row < len(tokens) else None
    return f"{row}" if token is None else f"{row} {_token(token)}"


def _token(token: str, width: int = _TOKEN_WIDTH) -> str:
    """A token between quotes that stay, whatever has to go between them."""
    return isolated(f'"{clip_middle(safe(token), width - 2)}"')


def _flowed(lead: str, items: list[str]) -> list[str]:
    """Fill lines with items that are never broken."""
    lines = ["  " + lead]
    for index, item in enumerate(items):
        piece = item + (", " if index + 1 < len(items) else "")
        if cell_width(lines[-1]) + cell_width(piece.rstrip()) > WIDTH:
            lines.append("  " + " " * len(lead))
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _wrapped(text: str, indent: str, following: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  " if following is None else following,
        break_on_hyphens=False,
    )


def _table(report: TableReport) -> Iterator[str]:
    share = f", {report.share:.1%} of the parameters" if report.share is not None else ""
    yield clip(f"{safe(report.tensor)} ({report.role})", WIDTH)
    shape = f"{report.rows:,} × {report.width:,} {report.dtype}"
    yield f"  {shape}, {decimal_size(report.nbytes)}{share}"
    if report.note:
        yield from _wrapped(safe(report.note), "  ")
    yield from _norms(report)
    if report.histogram is not None and report.rows >= _BARS_FROM:
        yield ""
        yield from bars(report.histogram, report.fresh_norm)
    yield from _extremes(report)
    if report.undertrained is not None:
        yield from _undertrained(report.undertrained)


def _norms(report: TableReport) -> Iterator[str]:
    norms = report.norms
    if norms is None:
        yield "  no row has a finite norm"
        return
    names = ["min", *(f"{percent}%" for percent in norms.percentiles), "max"]
    values = [norms.min, *norms.percentiles.values(), norms.max]
    yield ""
    yield "  norms of the rows"
    lines = table([names, [number(value) for value in values]], "r" * len(names), gap=1)
    if max(map(len, lines)) > WIDTH:
        lines = table([names, [f"{value:.2g}" for value in values]], "r" * len(names), gap=1)
    yield from lines
    yield f"  mean {number(norms.mean)}, standard deviation {number(norms.std)}"
    yield f"  untrained rows of N(0, {report.fresh_sigma:g}²) lie at {number(report.fresh_norm)}"
    if report.element_mean is not None and report.element_std is not None:
        yield (
            f"  elements: mean {number(report.element_mean)}, standard deviation "
            f"{number(report.element_std)}, largest {number(report.element_absmax)}"
        )


def _extremes(report: TableReport) -> Iterator[str]:
    if not report.smallest:
        return
    yield ""
    rows = [["smallest", "row", "", "largest", "row", ""]]
    for low, high in zip(report.smallest, report.largest, strict=True):
        rows.append([*_cells(low), *_cells(high)])
    yield from table(rows, "rrlrrl")


def _cells(row: RowNorm) -> list[str]:
    return [number(row.norm), f"{row.row}", "" if row.token is None else _token(row.token)]


def _undertrained(found: Undertrained) -> Iterator[str]:
    what = "cosine distance to the references" if found.indicator == "cosine" else "norm"
    yield ""
    yield from _wrapped(
        f"under-trained rows by {what}: confidence {found.confidence}, "
        f"{found.reference_count:,} reference rows",
        "  ",
    )
    for sign in found.signs:
        yield clip(f"    {safe(sign)}", WIDTH)
    yield from _wrapped(safe(found.reason), "    ", "    ")
    if found.distances:
        shares = (f"{percent}% {number(value)}" for percent, value in found.distances.items())
        yield from _wrapped("ordinary tokens: " + ", ".join(shares), "    ", "      ")
    if found.confidence == "low":
        yield "    the ranking says little and is left to --format json"
    elif found.candidates or found.apart:
        yield from table(
            [["score", "row", "", "kind"], *map(_candidate, (*found.candidates, *found.apart))],
            "rrll",
        )


def _candidate(candidate: Candidate) -> list[str]:
    token = "" if candidate.token is None else _token(candidate.token, 32)
    return [number(candidate.score), f"{candidate.row}", token, candidate.category]


def _selected(report: InspectReport) -> Iterator[str]:
    for row in report.selected:
        token = "" if row.token is None else f" {_token(row.token, 40)}"
        flags = f" [{', '.join(row.flags)}]" if row.flags else ""
        yield ""
        yield clip(f"row {row.row}{token}: norm {number(row.norm)}{flags}", WIDTH)
        yield clip(f"  {safe(row.tensor)}", WIDTH)
        yield from _wrapped(" ".join(f"{value:.4g}" for value in row.values), "  ", "  ")


def _skipped(report: InspectReport) -> Iterator[str]:
    if report.skipped:
        yield ""
        yield "not checked"
        for skipped in report.skipped:
            yield from _wrapped(safe(skipped.line), "  ")
