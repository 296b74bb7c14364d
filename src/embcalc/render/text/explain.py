from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from embcalc.core.findings import Rule
from embcalc.render.layout import WIDTH, clip, table


def rule_text(rule: Rule[Any]) -> str:
    """A rule's code, name and severity over its explanation."""
    return f"{rule.code} {rule.name} ({rule.severity.value})\n\n{rule.explanation}\n"


def listing(rules: Iterable[Rule[Any]]) -> str:
    """All rules, one a line."""
    rows = [(rule.code, rule.severity.value, rule.name) for rule in rules]
    lines = [clip(line, WIDTH) for line in table(rows, "lll", indent=0)]
    return "\n".join([*lines, "", "embcalc explain CODE says more"]) + "\n"
