from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.check_run import CheckRun
from embcalc.render.csv.check import HEADING, finding_cells
from embcalc.render.csv.document import dumps


def render(run: CheckRun) -> str:
    """Write one line a finding, and one a model that cannot be read."""
    return dumps(HEADING, _rows(run))


def _rows(run: CheckRun) -> Iterator[tuple[str | None, ...]]:
    for model, finding in run.pairs():
        yield finding_cells(model.report.model, finding)
    for item in run.unreadable:
        yield item.model, None, "unreadable", "error", None, item.error, item.hint, ""
