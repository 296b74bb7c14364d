"""Findings as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import re
from typing import Any

from embcalc.core.findings import Finding, Rule
from embcalc.core.reports.check_run import CheckedModel, CheckRun, Unreadable, fingerprint
from embcalc.render.layout import safe
from embcalc.render.sarif.log import LISTED_IDS, log, quoted, text
from embcalc.rules import RULES

_INDEX = {rule.code: index for index, rule in enumerate(RULES)}


def render(run: CheckRun) -> str:
    """A log with one run: every rule with its text, every finding with a stable fingerprint.

    Findings that a baseline lists are results with a suppression. Models that cannot be read are
    notifications of an invocation that did not succeed.
    """
    results = [_result(model, finding) for model, finding in run.pairs()]
    results += [_known(model, finding) for model in run.models for finding in model.known]
    return log("embcalc/check/", [_rule(rule) for rule in RULES], results, _invocation(run))


def _rule(rule: Rule[Any]) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": _first_paragraph(rule)},
        "help": {"text": rule.explanation, "markdown": _markdown(rule)},
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {"tags": ["embedding", "vocabulary"], "precision": "high"},
    }


def _markdown(rule: Rule[Any]) -> str:
    """The explanation with its examples as code blocks."""
    return re.sub(r"^(Before|After):\n", r"**\1:**\n\n", rule.explanation, flags=re.MULTILINE)


def _first_paragraph(rule: Rule[Any]) -> str:
    body = rule.explanation.partition("\n\n")[2] or rule.summary
    return " ".join(body.partition("\n\n")[0].split())


def _result(model: CheckedModel, finding: Finding) -> dict[str, Any]:
    place = model.folder or model.report.model
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": _INDEX.get(finding.rule, -1),
        "level": finding.severity.value,
        "message": {"text": text(finding.message, finding.hint)},
        "locations": [_location(model, finding.file)],
        "partialFingerprints": {"embcalc/v1": fingerprint(place, finding)},
    }
    if finding.ids:
        result["properties"] = {"ids": list(finding.ids[:LISTED_IDS]), "idCount": len(finding.ids)}
    return result


def _known(model: CheckedModel, finding: Finding) -> dict[str, Any]:
    justification = "listed in the baseline"
    return {
        **_result(model, finding),
        "suppressions": [{"kind": "external", "justification": justification}],
    }


def _location(model: CheckedModel, file: str | None) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(model, file)},
            "region": {"startLine": 1},
        },
        "logicalLocations": [{"fullyQualifiedName": safe(model.report.model), "kind": "model"}],
    }


def _uri(model: CheckedModel, file: str | None) -> str:
    path = model.path(file)
    if path is None:
        address = model.report.model
        path = address if file is None else f"{address}/{file}"
        scheme, separator, rest = path.partition("://")
        return f"{scheme}://{quoted(rest)}" if separator else f"hf://{quoted(path)}"
    return f"file://{quoted(path)}" if path.startswith("/") else quoted(path)


def _invocation(run: CheckRun) -> dict[str, Any]:
    return {
        "executionSuccessful": not run.unreadable,
        "toolExecutionNotifications": [_notification(item) for item in run.unreadable],
    }


def _notification(item: Unreadable) -> dict[str, Any]:
    text = f"{safe(item.model)}: {safe(item.error)}" + (f"\n{safe(item.hint)}" if item.hint else "")
    return {"level": "error", "message": {"text": text}}
