from __future__ import annotations

from typing import Any

from embcalc.core.findings import Severity
from embcalc.core.reports.check_run import CheckedModel, CheckRun
from embcalc.render.json.check import document, finding_document
from embcalc.render.json.document import dumps


def render(run: CheckRun) -> str:
    """Write one model as `embcalc/check/v1`, several as `embcalc/check-run/v1`."""
    if run.single and run.models:
        return dumps(_model(run.models[0]))
    return dumps(
        {
            "schema": "embcalc/check-run/v1",
            "ok": run.ok,
            "reports": [_model(model) for model in run.models],
            "unreadable": [
                {"model": item.model, "error": item.error, "hint": item.hint}
                for item in run.unreadable
            ],
            "summary": {
                "models": len(run.models) + len(run.unreadable),
                "unreadable": len(run.unreadable),
                "failed": sum(not report.ok for report in run.reports),
                "errors": run.count(Severity.ERROR),
                "warnings": run.count(Severity.WARNING),
                "notes": run.count(Severity.NOTE),
                "known": run.known,
            },
        }
    )


def _model(model: CheckedModel) -> dict[str, Any]:
    known = [finding_document(finding) for finding in model.known]
    return {**document(model.report), "known": known}
