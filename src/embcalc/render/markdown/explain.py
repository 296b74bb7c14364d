from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from embcalc.core.findings import Rule
from embcalc.render.markdown.document import escape, table


def render(rules: Iterable[Rule[Any]]) -> str:
    """Lay the rules out as a pipe table."""
    rows = [
        [rule.code, escape(rule.name), rule.severity.value, escape(rule.summary)] for rule in rules
    ]
    return "\n".join(table(("rule", "name", "severity", "checks"), rows, "llll")) + "\n"
