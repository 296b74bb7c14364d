from __future__ import annotations

from embcalc.core.reports.trend import TrendReport
from embcalc.render.markdown.document import escape, table
from embcalc.render.numbers import number
from embcalc.render.trend_rows import COUNTS, counts, rows_of, tensors


def render(report: TrendReport) -> str:
    """Write one table a tensor, one line a checkpoint."""
    lines = [f"# {len(report.points)} checkpoints"]
    heading = ["step", "checkpoint", "rows", "min", "median", "max", *COUNTS]
    for tensor in tensors(report):
        rows = []
        for path, step, each in rows_of(report, tensor):
            norms = each.norms
            figures = (
                ["", "", ""]
                if norms is None
                else [number(norms.min), number(norms.percentiles[50]), number(norms.max)]
            )
            name = "" if step is None else f"{step:,}"
            rows.append([name, escape(path), f"{each.rows:,}", *figures, *map(str, counts(each))])
        lines += ["", f"## {escape(tensor)}", "", *table(heading, rows, "rl" + "r" * 9)]
    return "\n".join(lines) + "\n"
