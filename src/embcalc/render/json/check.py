from __future__ import annotations

from typing import Any

from embcalc.core.findings import Finding, Severity
from embcalc.core.reports.check import CheckFacts, CheckReport, TokenizerSizes
from embcalc.render.json.document import dumps


def render(report: CheckReport) -> str:
    """Write a report as `embcalc/check/v1`."""
    return dumps(document(report))


def document(report: CheckReport) -> dict[str, Any]:
    """The JSON document of one model."""
    return {
        "schema": "embcalc/check/v1",
        "model": report.model,
        "ok": report.ok,
        "facts": _facts(report.facts),
        "findings": [finding_document(finding) for finding in report.findings],
        "summary": {
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "notes": report.count(Severity.NOTE),
        },
        "skipped": [{"rule": one.rule, "reason": one.reason} for one in report.skipped],
    }


def _facts(facts: CheckFacts) -> dict[str, Any]:
    return {
        "config_vocab_size": facts.vocab_size,
        "config_vocab_source": facts.vocab_source,
        "embedding_rows": facts.embedding_rows,
        "head_rows": facts.head_rows,
        "tied": facts.tied,
        "tokenizer": _tokenizer(facts.tokenizer) if facts.tokenizer else None,
        "special_ids": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in facts.special_ids.items()
        },
    }


def _tokenizer(sizes: TokenizerSizes) -> dict[str, Any]:
    return {
        "format": sizes.format,
        "file": sizes.file,
        "base_size": sizes.base_size,
        "added": sizes.size - sizes.base_size,
        "size": sizes.size,
        "max_id": sizes.max_id,
        "holes": sizes.holes,
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """One finding."""
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        "file": finding.file,
        "ids": list(finding.ids),
    }
