"""Growth and fine-tuning, as text."""

from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.growth import FineTuning, Growth
from embcalc.core.reports.estimate import EstimateReport
from embcalc.render.layout import table
from embcalc.render.text.estimate_memory import Variants, merged, variant_name
from embcalc.render.units import both_units, units_for


def growth_lines(variants: Variants) -> Iterator[str]:
    """What more tokens cost, and the ways to train them."""
    growth = variants[0].growth
    if growth is not None:
        yield _growth_headline(growth)
        yield from _growth_table(variants)
    if variants[0].fine_tuning is not None:
        if growth is not None:
            yield ""
        for report in variants:
            if report.fine_tuning is not None:
                yield from _fine_tuning(report.fine_tuning, report, named=len(variants) > 1)


def _growth_headline(growth: Growth) -> str:
    padding = f", {growth.padding_rows:,} of them padding rows" if growth.padding_rows else ""
    return f"Growth: {growth.old_rows:,} -> {growth.new_rows:,} rows{padding}"


def _growth_table(variants: Variants) -> list[str]:
    growths = [report.growth for report in variants if report.growth is not None]
    prefix = [f"{variant_name(report)}, " if len(variants) > 1 else "" for report in variants]
    lines = [["", *(f"{name}added" for name in prefix)]]
    lines.append(["parameters", *(f"{growth.added_parameters:,}" for growth in growths)])
    lines.extend(
        [name, *(both_units(growth.added_bytes[row.regime.name]) for growth in growths)]
        for name, row in merged(variants[0].memory)
    )
    if growths[0].added_logits_bytes is not None:
        cells = [both_units(growth.added_logits_bytes or 0) for growth in growths]
        lines.append(["logits at peak", *cells])
    return table(lines, "l" + "r" * len(growths), indent=0)


def _fine_tuning(ways: FineTuning, report: EstimateReport, *, named: bool) -> Iterator[str]:
    sizes = (*ways.full.values(), *ways.modules_to_save.values())
    units = units_for(sizes)
    kind = f", {variant_name(report)}" if named else ""
    rows = "1 row" if ways.rows == 1 else f"{ways.rows:,} rows"
    yield f"Ways to train {rows}{kind}, in {units.decimal}"
    lines = [["regime", "whole tables", "modules_to_save", f"{rows} only"]]
    lines.extend(
        [
            name,
            units.in_decimal(ways.full[row.regime.name]),
            units.in_decimal(ways.modules_to_save[row.regime.name]),
            units.in_decimal(ways.trainable_rows[row.regime.name]),
        ]
        for name, row in merged(report.memory)
    )
    yield from table(lines, "lrrr", indent=0)
