"""The health of a checkpoint's tables: verdict, findings, then each table's numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from embcalc.core.display import quoted
from embcalc.core.findings import Severity
from embcalc.core.reports.inspect import InspectReport, RowFinding, RowNorm, TableReport
from embcalc.render.inspect_verdict import count, verdict
from embcalc.render.layout import WIDTH, clip, decimal_size, safe, table
from embcalc.render.numbers import number
from embcalc.render.text.histogram import bars

_SIGNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_BARS_FROM = 64
"""Rows from which a histogram says more than the rows themselves."""
_TOKEN_WIDTH = 20


def render(report: InspectReport) -> str:
    """Lay out a report in 80 columns."""
    lines = [*_head(report), *_findings(report)]
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
        yield f"  tokens from {clip(safe(report.tokenizer), 60)}"
    else:
        yield "  no tokenizer beside it: rows have no tokens (--tokenizer names one)"


def _findings(report: InspectReport) -> Iterator[str]:
    for finding in report.findings:
        yield ""
        yield from _finding(report, finding)


def _finding(report: InspectReport, finding: RowFinding) -> Iterator[str]:
    where = f" in {safe(finding.tensor)}" if finding.tensor and len(report.tables) > 1 else ""
    yield from _wrapped(f"{_SIGNS[finding.severity]}: {safe(finding.message)}{where}", "", "  ")
    if finding.rows:
        yield from _row_list(report, finding)
    if finding.hint:
        yield from _wrapped(f"hint: {safe(finding.hint)}", "  ")


def _row_list(report: InspectReport, finding: RowFinding) -> Iterator[str]:
    tokens = next((t.data.tokens for t in report.tables if t.tensor == finding.tensor), None)
    shown = []
    for row in finding.rows[:12]:
        token = tokens[row] if tokens and row < len(tokens) else None
        shown.append(
            f"{row} {clip(quoted(token), _TOKEN_WIDTH)}" if token is not None else f"{row}"
        )
    more = ", …" if len(finding.rows) > len(shown) else ""
    yield from _wrapped("rows " + ", ".join(shown) + more, "  ")


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


def _norms(report: TableReport) -> Iterator[str]:
    norms = report.norms
    if norms is None:
        yield "  no row has a finite norm"
        return
    names = ["min", *(f"{percent}%" for percent in norms.percentiles), "max"]
    values = [norms.min, *norms.percentiles.values(), norms.max]
    yield ""
    yield "  row norms"
    yield from table(
        [names, [number(value) for value in values]], "r" * len(names), indent=2, gap=1
    )
    yield f"  mean {number(norms.mean)}, standard deviation {number(norms.std)}; untrained rows of"
    yield f"  N(0, {report.fresh_sigma:g}²) would lie at {number(report.fresh_norm)}"
    if report.element_mean is not None and report.element_std is not None:
        yield (
            f"  elements: mean {number(report.element_mean)}, standard deviation "
            f"{number(report.element_std)}, largest {number(report.element_absmax)}"
        )


def _extremes(report: TableReport) -> Iterator[str]:
    if not report.smallest:
        return
    yield ""
    rows = [["smallest", "", "", "largest", "", ""]]
    for low, high in zip(report.smallest, report.largest, strict=True):
        rows.append([*_cells(low), *_cells(high)])
    yield from table(rows, "rrlrrl")


def _cells(row: RowNorm) -> list[str]:
    token = "" if row.token is None else clip(quoted(row.token), _TOKEN_WIDTH)
    return [number(row.norm), f"{row.row}", token]


def _selected(report: InspectReport) -> Iterator[str]:
    for row in report.selected:
        token = "" if row.token is None else f" {clip(quoted(row.token), 40)}"
        flags = f" [{', '.join(row.flags)}]" if row.flags else ""
        yield ""
        yield clip(
            f"{safe(row.tensor)} row {row.row}{token}: norm {number(row.norm)}{flags}", WIDTH
        )
        yield from _wrapped(" ".join(f"{value:.4g}" for value in row.values) + " …", "  ", "  ")


def _skipped(report: InspectReport) -> Iterator[str]:
    if report.skipped:
        yield ""
        yield "not checked"
        for skipped in report.skipped:
            yield from _wrapped(f"{safe(skipped.tensor)}: {safe(skipped.reason)}", "  ")
