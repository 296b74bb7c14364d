from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.inspect import InspectReport, RowNorm, TableReport
from embcalc.render.layout import decimal_size
from embcalc.render.markdown.document import escape, table
from embcalc.render.numbers import number


def render(report: InspectReport) -> str:
    """Write the report for an issue or a model card."""
    lines = [f"# {escape(report.checkpoint.path)}", "", *_facts(report), ""]
    lines += [
        f"- **{finding.severity}** {finding.name}: {escape(finding.message)}"
        + (f" in `{escape(finding.tensor)}`" if finding.tensor else "")
        for finding in report.findings
    ] or ["No ill row."]
    for each in report.tables:
        lines += ["", *_table(each)]
    if report.skipped:
        lines += ["", "## Not checked", ""]
        lines += [f"- {escape(s.line)}" for s in report.skipped]
    return "\n".join(lines) + "\n"


def _facts(report: InspectReport) -> Iterator[str]:
    facts = report.checkpoint
    yield (
        f"{facts.format}, {facts.tensors:,} tensors, {facts.parameters:,} parameters, "
        f"{decimal_size(facts.nbytes)}; head: {report.tying.verdict} "
        f"({escape(report.tying.reason)})"
    )


def _table(report: TableReport) -> Iterator[str]:
    yield f"## {escape(report.tensor)}"
    yield ""
    yield f"{report.rows:,} × {report.width:,} {report.dtype}, {decimal_size(report.nbytes)}"
    if report.norms is not None:
        norms = report.norms
        names = ["min", *(f"{percent}%" for percent in norms.percentiles), "max"]
        values = [norms.min, *norms.percentiles.values(), norms.max]
        yield ""
        yield from table(names, [[number(value) for value in values]], "r" * len(names))
    if report.smallest:
        yield ""
        heading = ["smallest", "row", "token", "largest", "row", "token"]
        pairs = zip(report.smallest, report.largest, strict=True)
        yield from table(heading, [[*_cells(a), *_cells(b)] for a, b in pairs], "rrlrrl")


def _cells(row: RowNorm) -> tuple[str, str, str]:
    return number(row.norm), str(row.row), "" if row.token is None else escape(row.token)
