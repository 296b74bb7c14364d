from __future__ import annotations

from typing import Any

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Finding, Severity
from embcalc.core.reports.check import CheckReport
from embcalc.core.vocabulary import Vocabulary
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
        "findings": [_finding(finding) for finding in report.findings],
        "summary": {
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "notes": report.count(Severity.NOTE),
        },
        "skipped": [{"rule": one.rule, "reason": one.reason} for one in report.skipped],
    }


def _facts(facts: ModelFacts) -> dict[str, Any]:
    config = facts.config
    vocabulary = facts.tokenizer.vocabulary
    return {
        "config_vocab_size": config.vocab_size if config else None,
        "config_vocab_source": config.vocab_source if config else None,
        "embedding_rows": facts.embedding_rows,
        "head_rows": facts.head_rows,
        "tied": config.tied if config else None,
        "tokenizer": _tokenizer(vocabulary) if vocabulary else None,
        "special_ids": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in facts.special_ids.items()
        },
    }


def _tokenizer(vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "format": vocabulary.format,
        "file": vocabulary.file,
        "base_size": vocabulary.base_size,
        "added": vocabulary.size - vocabulary.base_size,
        "size": vocabulary.size,
        "max_id": vocabulary.max_id,
        "holes": vocabulary.holes,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        "file": finding.file,
        "ids": list(finding.ids),
    }
