"""Write docs/rules.md from the docstrings of the rules.

Usage: python scripts/rules_docs.py [--check]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from embcalc.core.findings import Rule, Severity
from embcalc.rules import HEADER_RULES, RULES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "rules.md"
HEAD = """# Rules

What `embcalc check-vocab` and `embcalc check` look for. `embcalc explain CODE` prints the same
text. This page is written by `python scripts/rules_docs.py`.

An **error** breaks something or loses something and fails the run (exit code 1). A **warning** is
likely to surprise; it fails the run with `--strict`. A **note** is worth knowing and never fails.
`check-vocab` runs the rules marked with a tick: they need headers and text files only.
"""
GROUPS = {
    "EMB1": "Sizes and ids",
    "EMB2": "Special tokens",
    "EMB3": "Tokenizer files",
    "EMB4": "Tying",
    "EMB5": "Rows",
    "EMB6": "Files and shards",
}

_HEADINGS = {"Before:": ("**Before**", ""), "After:": ("", "**After**", "")}


def page() -> str:
    """The whole page."""
    rules = sorted(RULES, key=lambda rule: rule.code)
    lines = [HEAD, *_overview(rules)]
    group = ""
    for rule in rules:
        if rule.code[:4] != group:
            group = rule.code[:4]
            lines += ["", f"## {GROUPS[group]}"]
        lines += _section(rule)
    return "\n".join(lines) + "\n"


def _overview(rules: list[Rule[Any]]) -> Iterator[str]:
    yield "| code | severity | check-vocab | what is found |"
    yield "| --- | --- | --- | --- |"
    early = {rule.code for rule in HEADER_RULES}
    for rule in rules:
        link = f"[{rule.code}](#{rule.code.lower()}-{rule.name})"
        tick = "✓" if rule.code in early else ""
        yield f"| {link} | {rule.severity.value} | {tick} | {rule.summary} |"


def _section(rule: Rule[Any]) -> Iterator[str]:
    yield ""
    yield f"### {rule.code} {rule.name}"
    yield ""
    severity = {Severity.ERROR: "Error", Severity.WARNING: "Warning", Severity.NOTE: "Note"}
    yield f"*{severity[rule.severity]}.*"
    yield ""
    yield from _body(rule.explanation)


def _body(text: str) -> Iterator[str]:
    """The explanation, with its indented examples as code blocks."""
    for indented, lines in groupby(text.split("\n"), lambda line: line.startswith("    ")):
        if indented:
            yield "```text"
            for line in lines:
                yield from re.split(r" {3,}", line[4:])
            yield "```"
            continue
        for line in lines:
            yield from _HEADINGS.get(line, (line,))


def main(arguments: list[str]) -> int:
    """Write the page, or with --check compare it."""
    text = page()
    if "--check" in arguments:
        current = PAGE.read_text("utf-8") if PAGE.exists() else ""
        if current != text:
            print(f"{PAGE.name} is not up to date: run python scripts/rules_docs.py")
            return 1
        return 0
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
