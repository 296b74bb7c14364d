"""One page that opens offline: findings, pictures with hover text, every row to search and sort."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from embcalc.core.findings import Severity
from embcalc.core.reports.inspect import InspectReport, RowFinding, TableReport
from embcalc.render.inspect_verdict import verdict
from embcalc.render.layout import decimal_size, safe
from embcalc.render.numbers import number

_LISTED = 30


def render(report: InspectReport) -> str:
    """Write the page: no address in it is ever fetched, and no text from the model is markup."""
    here = files("embcalc.render.html")
    facts = report.checkpoint
    return Template(here.joinpath("page.html").read_text("utf-8")).substitute(
        title=f"{_text(facts.path)} – embcalc inspect",
        style=here.joinpath("page.css").read_text("utf-8"),
        script=here.joinpath("page.js").read_text("utf-8"),
        path=_text(facts.path),
        verdict=_text(verdict(report)),
        facts=_text(
            f"{facts.format}, {facts.tensors:,} tensors, {facts.parameters:,} parameters, "
            f"{decimal_size(facts.nbytes)}"
        ),
        tying=_text(f"head: {report.tying.verdict} ({report.tying.reason})"),
        findings=_findings(report),
        choices="".join(
            f'<option value="{index}">{_text(table.tensor)} ({table.role})</option>'
            for index, table in enumerate(report.tables)
        ),
        numbers="".join(_numbers(index, table) for index, table in enumerate(report.tables)),
        data=_data(report),
    )


def _text(text: str) -> str:
    return escape(safe(text))


def _findings(report: InspectReport) -> str:
    items = "".join(_finding(report, finding) for finding in report.findings)
    return f'<ul class="findings">{items}</ul>' if items else "<p>None.</p>"


def _finding(report: InspectReport, finding: RowFinding) -> str:
    where = f" in {_text(finding.tensor)}" if finding.tensor else ""
    hint = f'<p class="soft">{_text(finding.hint)}</p>' if finding.hint else ""
    rows = ", ".join(_row_names(report, finding))
    more = ", …" if len(finding.rows) > _LISTED else ""
    listed = f'<p class="soft">rows {rows}{more}</p>' if rows else ""
    severity = finding.severity.value
    assert severity in tuple(Severity)  # noqa: S101 - becomes a class name
    return (
        f'<li class="{severity}"><p><b>{severity}</b>: {_text(finding.message)}{where}</p>'
        f"{hint}{listed}</li>"
    )


def _row_names(report: InspectReport, finding: RowFinding) -> Iterator[str]:
    tokens = next((t.data.tokens for t in report.tables if t.tensor == finding.tensor), None)
    for row in finding.rows[:_LISTED]:
        token = tokens[row] if tokens and row < len(tokens) else None
        yield f"{row}" if token is None else f"{row} “{_text(token)}”"


def _numbers(index: int, table: TableReport) -> str:
    share = "unknown" if table.share is None else f"{table.share:.1%}"
    pairs = [
        ("shape", f"{table.rows:,} × {table.width:,}"),
        ("dtype", table.dtype),
        ("size", decimal_size(table.nbytes)),
        ("of the parameters", share),
        ("untrained rows lie at", number(table.fresh_norm)),
    ]
    if table.norms is not None:
        norms = table.norms
        pairs += [
            ("smallest norm", number(norms.min)),
            ("median norm", number(norms.percentiles[50])),
        ]
        pairs += [("largest norm", number(norms.max)), ("mean norm", number(norms.mean))]
    cells = "".join(
        f"<div><dt>{_text(name)}</dt><dd>{_text(text)}</dd></div>" for name, text in pairs
    )
    return f'<dl class="facts" data-table="{index}">{cells}</dl>'


def _data(report: InspectReport) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps([_table(table) for table in report.tables], allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _table(table: TableReport) -> dict[str, Any]:
    data = table.data
    flags = {name: mask.nonzero()[0].tolist() for name, mask in data.flags.items()}
    histogram = table.histogram
    return {
        "norms": [_short(norm) for norm in data.norms.tolist()],
        "tokens": None if data.tokens is None else [_shown(token) for token in data.tokens],
        "flags": flags | {"special": data.special.nonzero()[0].tolist()},
        "histogram": None
        if histogram is None
        else {"edges": list(histogram.edges), "counts": list(histogram.counts)},
        "fresh": table.fresh_norm,
    }


def _short(norm: float) -> float | None:
    """Seven digits are more than a picture shows, and half the size of the page."""
    return float(f"{norm:.7g}") if math.isfinite(norm) else None


def _shown(token: str | None) -> str | None:
    return None if token is None else safe(token)
