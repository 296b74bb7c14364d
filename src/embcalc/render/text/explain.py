from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from embcalc.core.findings import Rule
from embcalc.render.layout import WIDTH, clip, table


def render(rules: Sequence[Rule[Any]]) -> str:
    """Explain one rule; list several."""
    return rule_text(rules[0]) if len(rules) == 1 else listing(rules)


def rule_text(rule: Rule[Any]) -> str:
    """A rule's code, name and severity over its explanation, folded to the terminal's width."""
    lines = [f"{rule.code} {rule.name} ({rule.severity.value})", ""]
    return "\n".join([*lines, *explanation_lines(rule.explanation)]).rstrip() + "\n"


def explanation_lines(text: str) -> Iterator[str]:
    """Fold the paragraphs of an explanation; examples keep their lines as far as they fit."""
    paragraph: list[str] = []
    for line in [*text.split("\n"), ""]:
        if line.startswith("    "):
            yield from _example(line.strip())
        elif line in ("", "Before:", "After:"):
            yield from textwrap.wrap(" ".join(paragraph), WIDTH, break_on_hyphens=False)
            paragraph = []
            yield line
        else:
            paragraph.append(line)


def _example(line: str) -> Iterator[str]:
    """One line of an example: its parts under each other where they do not fit side by side."""
    parts = [line] if len(line) + 4 <= WIDTH else re.split(r" {3,}", line)
    for part in parts:
        yield from textwrap.wrap(
            part, WIDTH, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False
        )


def listing(rules: Iterable[Rule[Any]]) -> str:
    """All rules, one a line."""
    rows = [(rule.code, rule.severity.value, rule.name) for rule in rules]
    lines = [clip(line, WIDTH) for line in table(rows, "lll", indent=0)]
    return "\n".join([*lines, "", "embcalc explain CODE says more"]) + "\n"
