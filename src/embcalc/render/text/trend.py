from __future__ import annotations

from embcalc.core.reports.trend import TrendReport
from embcalc.render.inspect_verdict import verdict
from embcalc.render.layout import WIDTH, clip, safe, table
from embcalc.render.trend_rows import counts, rows_of, tensors

_HEADING = ["step", "rows", "min", "1%", "median", "max", "zero", "near", "nonfin", "dupl", "outl"]


def render(report: TrendReport) -> str:
    """Lay out one line a checkpoint for each table, oldest step first."""
    lines = [f"{len(report.points)} checkpoints"]
    for point in report.points:
        lines.append(
            clip(f"  {safe(point.report.checkpoint.path)}: {verdict(point.report)}", WIDTH)
        )
    for tensor in tensors(report):
        grid = [_HEADING]
        for path, step, each in rows_of(report, tensor):
            name = f"{step:,}" if step is not None else clip(safe(path), 12)
            norms = each.norms
            figures = (
                ["–"] * 4
                if norms is None
                else [
                    f"{value:.4g}"
                    for value in (norms.min, norms.percentiles[1], norms.percentiles[50], norms.max)
                ]
            )
            grid.append([name, f"{each.rows:,}", *figures, *map(str, counts(each))])
        lines += ["", clip(safe(tensor), WIDTH), *table(grid, "r" * len(_HEADING), gap=1)]
    return "\n".join(lines) + "\n"
