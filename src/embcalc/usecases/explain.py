"""The text of a rule."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from embcalc.core.findings import Rule
from embcalc.errors import UsageError
from embcalc.rules import RULES


def find_rule(code: str) -> Rule[Any]:
    """Look up a rule by its code or its name.

    Raises:
        UsageError: there is none.
    """
    wanted = code.strip()
    for rule in RULES:
        if wanted.upper() == rule.code or wanted.lower() == rule.name:
            return rule
    group = [rule.code for rule in RULES if wanted and rule.code.startswith(wanted.upper())]
    known = [name for rule in RULES for name in (rule.code, rule.name)]
    close = (
        group[:3]
        or get_close_matches(wanted.upper(), known, 3)
        or get_close_matches(wanted, known, 3)
    )
    hint = f"did you mean {', '.join(close)}?" if close else "'embcalc explain' lists all rules"
    raise UsageError(f"there is no rule {code!r}", hint=hint)
