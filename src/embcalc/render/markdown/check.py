from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.reports.check import CheckFacts, CheckReport
from embcalc.render.markdown.document import escape, table


def render(report: CheckReport) -> str:
    """Write sizes and findings as two tables."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: CheckReport) -> Iterator[str]:
    yield f"### {escape(report.model)}: {'ok' if report.ok else 'failed'}"
    yield ""
    yield from table(("fact", "value", "source"), _facts(report.facts), "lrl")
    yield ""
    if not report.findings:
        yield "Nothing found."
        return
    rows = (
        (
            finding.severity.value,
            finding.rule,
            escape(finding.message),
            escape(finding.hint or ""),
            escape(finding.file or ""),
        )
        for finding in report.findings
    )
    yield from table(("severity", "rule", "finding", "what to do", "file"), rows, "lllll")


def _facts(facts: CheckFacts) -> Iterator[tuple[str, str, str]]:
    if facts.vocab_size is not None:
        yield "vocab_size", f"{facts.vocab_size:,}", escape(facts.vocab_source or "")
    if facts.embedding_rows is not None:
        source = facts.embedding_name or "the base"
        yield "embedding rows", f"{facts.embedding_rows:,}", escape(source)
    if facts.head_rows is not None:
        yield "head rows", f"{facts.head_rows:,}", ""
    if facts.tokenizer is not None:
        yield "tokens", f"{facts.tokenizer.size:,}", escape(facts.tokenizer.file)
        yield "largest id", f"{facts.tokenizer.max_id:,}", ""
