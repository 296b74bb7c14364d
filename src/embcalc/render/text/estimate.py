from __future__ import annotations

from collections.abc import Callable, Iterator

from embcalc.core.memory import Table
from embcalc.core.reports.estimate import EstimateReport
from embcalc.render.layout import safe, table
from embcalc.render.text.estimate_memory import (
    Variants,
    legend_lines,
    memory_lines,
    memory_units,
    transient_lines,
)
from embcalc.render.text.notes import note_lines, wrapped

LONGEST_NAME = 40


def render(report: EstimateReport) -> str:
    """Lay an estimate out for a terminal of 80 columns."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: EstimateReport) -> Iterator[str]:
    variants = (report,) if report.alternative is None else (report.alternative, report)
    yield from wrapped(_headline(report))
    yield ""
    yield from _tables(report)
    yield from _share(report)
    units = memory_units(variants)
    for variant in variants:
        yield ""
        yield from memory_lines(variant, units, named=len(variants) > 1)
    yield ""
    yield from legend_lines(report, units)
    for section in _sections(report):
        lines = list(section(variants))
        if lines:
            yield ""
            yield from lines
    if report.explanations:
        yield ""
        yield from _explanations(report)
    if report.assumptions:
        yield ""
        yield from note_lines(report.assumptions)


def _sections(report: EstimateReport) -> Iterator[Callable[[Variants], Iterator[str]]]:
    """What was asked for; nothing else is loaded."""
    yield transient_lines
    if report.growth or report.fine_tuning:
        from embcalc.render.text.estimate_growth import growth_lines

        yield growth_lines
    if report.activations or report.per_rank or report.budget:
        from embcalc.render.text.estimate_batch import batch_lines, budget_lines, rank_lines

        yield from (batch_lines, rank_lines, budget_lines)


def _headline(report: EstimateReport) -> str:
    model = report.model
    name = f"{_short(model.name)} ({model.source}): " if model.name else ""
    sizes = f"vocabulary {model.vocab_size:,} x hidden size {model.hidden_size:,}"
    return f"{name}{sizes}{_tying(report)}"


def _short(name: str) -> str:
    """The end of a long path: it tells models apart."""
    return name if len(name) <= LONGEST_NAME else f"...{name[3 - LONGEST_NAME :]}"


def _tying(report: EstimateReport) -> str:
    model = report.model
    if not _has_head(report):
        return ", no output head"
    if report.alternative is not None or model.tied_source == "assumed":
        return ""
    stated = model.tied_source in ("config", "class-default", "flag")
    origin = f" ({model.tied_from})" if stated and model.tied_from else ""
    return f", {'tied' if model.tied else 'untied'}{origin}"


def _has_head(report: EstimateReport) -> bool:
    return any(item.role == "output" for item in report.tables)


def _tables(report: EstimateReport) -> list[str]:
    rows = [["table", "rows", "width", "parameters", ""]]
    rows.extend(
        [
            item.role.value.replace("_", " "),
            f"{item.rows:,}",
            f"{item.width:,}",
            f"{item.parameters:,}",
            _remark(item, report),
        ]
        for item in report.tables
    )
    counts = report.parameters
    if len(report.tables) > 1:
        rows.append(["total", "", "", f"{counts.total:,}", ""])
    if counts.trainable != counts.total:
        rows.append(["trainable", "", "", f"{counts.trainable:,}", ""])
    return table(rows, "lrrrl", indent=0)


def _remark(item: Table, report: EstimateReport) -> str:
    if item.shared:
        return f"tied: saves {item.rows * item.width:,}"
    if item.role == "output" and report.alternative is not None:
        return "0 when tied"
    stored = next((s for s in report.stored if s.role is item.role), None)
    if stored is not None:
        return safe(f"stored as {stored.dtype}")
    if not item.trainable_rows:
        return "frozen"
    if item.trainable_rows == item.rows:
        return ""
    return f"{item.trainable_rows:,} {'row' if item.trainable_rows == 1 else 'rows'} trained"


def _share(report: EstimateReport) -> Iterator[str]:
    counts = report.parameters
    if counts.model_total is not None and counts.share_of_model is not None:
        yield (
            f"{counts.share_of_model:.1%} of the model's {counts.model_total:,} parameters"
            f" are {'token table and head' if _has_head(report) else 'the token table'}"
        )


def _explanations(report: EstimateReport) -> Iterator[str]:
    yield "How the numbers come about"
    for item in report.explanations:
        yield from wrapped(f"{item.name}: {item.formula}")
        yield from (f"  {line}" for line in wrapped(f"= {item.filled}"))
        yield from (f"  {line}" for line in wrapped(f"source: {item.source}"))
