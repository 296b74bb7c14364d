from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.findings import Severity
from embcalc.core.reports.check_run import CheckedModel, CheckRun, Unreadable
from embcalc.core.wording import count
from embcalc.render.layout import WIDTH, clip, safe
from embcalc.render.text.check import finding_lines, folded
from embcalc.render.text.check import render as render_report


def render(run: CheckRun) -> str:
    """Lay out a run for a terminal: one model in full; of several, the findings of each."""
    if run.single and run.models:
        return render_report(run.models[0].report) + "".join(f"{line}\n" for line in _known(run))
    return "\n".join(_lines(run)) + "\n"


def _lines(run: CheckRun) -> Iterator[str]:
    for model in run.models:
        yield from _model(model)
    for item in run.unreadable:
        yield from _unreadable(item)
    yield from _known(run)
    yield _summary(run)


def _model(model: CheckedModel) -> Iterator[str]:
    report = model.report
    verdict = "ok" if report.ok else "failed"
    skipped = f", {len(report.skipped):,} not" if report.skipped else ""
    rules = f"{count(report.checked, 'rule')} checked{skipped}"
    name = clip(safe(report.model), WIDTH - 10 - len(rules))
    yield f"{verdict:<7} {name}  {rules}"
    for finding in report.findings:
        yield from finding_lines(finding, "  ")


def _unreadable(item: Unreadable) -> Iterator[str]:
    yield clip(f"error   {safe(item.model)}", WIDTH)
    yield from folded(item.error, "  ", "  ")
    if item.hint:
        yield from folded(item.hint, "  fix: ", "       ")


def _known(run: CheckRun) -> Iterator[str]:
    if run.known:
        yield f"{count(run.known, 'finding')} of the baseline not shown"


def _summary(run: CheckRun) -> str:
    counts = [
        count(run.count(severity), severity.value) for severity in Severity if run.count(severity)
    ]
    if run.unreadable:
        counts.insert(0, f"{len(run.unreadable):,} unreadable")
    models = count(len(run.models) + len(run.unreadable), "model")
    verdict = "ok" if run.ok else "failed"
    return f"{verdict}: {', '.join(counts) or 'nothing found'} ({models})"
