from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from embcalc.core.findings import Rule
from embcalc.render.csv.document import dumps


def render(rules: Iterable[Rule[Any]]) -> str:
    """Write a line a rule."""
    return dumps(
        ("code", "name", "severity", "summary"),
        ((rule.code, rule.name, rule.severity.value, rule.summary) for rule in rules),
    )
