from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.facts import ModelFacts
from embcalc.core.reports.check import CheckReport
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


def _facts(facts: ModelFacts) -> Iterator[tuple[str, str, str]]:
    config, vocabulary = facts.config, facts.tokenizer.vocabulary
    if config and config.vocab_size is not None:
        yield "vocab_size", f"{config.vocab_size:,}", escape(config.vocab_source or "")
    if facts.embedding_rows is not None:
        source = facts.embedding.name if facts.embedding else "the base"
        yield "embedding rows", f"{facts.embedding_rows:,}", escape(source)
    if facts.head_rows is not None:
        yield "head rows", f"{facts.head_rows:,}", ""
    if vocabulary is not None:
        yield "tokens", f"{vocabulary.size:,}", escape(vocabulary.file)
        yield "largest id", f"{vocabulary.max_id:,}", ""
