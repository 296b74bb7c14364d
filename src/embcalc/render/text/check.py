from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.findings import Finding, Severity
from embcalc.core.reports.check import CheckFacts, CheckReport
from embcalc.core.safe_text import safe
from embcalc.core.wording import count
from embcalc.render.layout import WIDTH, cell_width, clip, table


def render(report: CheckReport) -> str:
    """Lay out a report for a terminal: the sizes, the findings, what was not checked."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: CheckReport) -> Iterator[str]:
    yield clip(safe(report.model), WIDTH)
    yield from (clip(line, WIDTH) for line in table(_sizes(report.facts), "lrl"))
    for finding in report.findings:
        yield ""
        yield from finding_lines(finding)
    yield ""
    yield _summary(report)
    yield from _skipped(report)


def _sizes(facts: CheckFacts) -> Iterator[tuple[str, str, str]]:
    if facts.vocab_size is not None:
        yield "vocab_size", f"{facts.vocab_size:,}", safe(facts.vocab_source or "")
    if facts.embedding_rows is not None:
        tied = ", tied" if facts.tied and facts.head_rows is None else ""
        name = facts.embedding_name or "of the base"
        yield "embedding rows", f"{facts.embedding_rows:,}", safe(name) + tied
    if facts.head_rows is not None:
        yield "head rows", f"{facts.head_rows:,}", safe(facts.head_name or "")
    if facts.tokenizer is not None:
        yield "tokens", f"{facts.tokenizer.size:,}", safe(facts.tokenizer.file)
        yield "largest id", f"{facts.tokenizer.max_id:,}", ""


def finding_lines(finding: Finding, indent: str = "") -> Iterator[str]:
    """One finding: its code and file, the message, and what to do."""
    place = f"  {safe(finding.file)}" if finding.file else ""
    yield clip(f"{indent}{finding.severity.value} {finding.rule} {finding.name}{place}", WIDTH)
    yield from folded(finding.message, f"{indent}  ", f"{indent}  ")
    if finding.hint:
        label = "why: " if finding.severity is Severity.NOTE else "fix: "
        yield from folded(finding.hint, f"{indent}  {label}", f"{indent}       ")


def folded(text: str, first: str, further: str) -> Iterator[str]:
    """Fold a text into the terminal's width; wide characters count as two columns."""
    line, indent = "", first
    for word in safe(text).split(" "):
        longer = f"{line} {word}" if line else word
        if line and cell_width(indent + longer) > WIDTH:
            yield indent + line
            line, indent = word, further
        else:
            line = longer
        while cell_width(indent + line) > WIDTH:
            head = clip(line, WIDTH - cell_width(indent)).removesuffix("…")
            yield indent + head
            line, indent = line[len(head) :], further
    if line:
        yield indent + line


def _summary(report: CheckReport) -> str:
    counts = [
        count(report.count(severity), severity.value)
        for severity in Severity
        if report.count(severity)
    ]
    verdict = "ok" if report.ok else "failed"
    found = ", ".join(counts) if counts else "nothing found"
    return f"{verdict}: {found} ({count(report.checked, 'rule')} checked)"


def _skipped(report: CheckReport) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for one in report.skipped:
        by_reason.setdefault(one.reason, []).append(one.rule)
    for reason, rules in by_reason.items():
        yield from folded(f"not checked ({reason}): {', '.join(rules)}", "", "  ")
