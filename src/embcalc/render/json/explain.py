from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from embcalc.core.findings import Rule
from embcalc.render.json.document import dumps


def render(rules: Iterable[Rule[Any]]) -> str:
    """Write `embcalc/explain/v1`."""
    return dumps({"schema": "embcalc/explain/v1", "rules": [_rule(rule) for rule in rules]})


def _rule(rule: Rule[Any]) -> dict[str, str]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "summary": rule.summary,
        "explanation": rule.explanation,
    }
