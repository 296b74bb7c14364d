"""Bytes of training, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embcalc.core.memory import Bytes
from embcalc.core.reports.estimate import EstimateReport, MemoryRow
from embcalc.render.layout import table
from embcalc.render.text.notes import wrapped
from embcalc.render.units import Units, units_for

Variants = Sequence[EstimateReport]
"""A report, or its tied and its untied form."""


def variant_name(report: EstimateReport) -> str:
    """`tied` or `untied`."""
    return "tied" if report.model.tied else "untied"


def memory_units(variants: Variants) -> Units:
    """The units of all totals, so that tied and untied can be compared."""
    return units_for(row.bytes.total for report in variants for row in report.memory)


def memory_lines(report: EstimateReport, units: Units, *, named: bool) -> Iterator[str]:
    """Bytes between two steps, a line a regime; of a single regime a line a table."""
    optimizer = report.memory[0].optimizer
    kind = f"{variant_name(report)}, {report.parameters.total:,} parameters, " if named else ""
    regime = f", {report.memory[0].regime.name}" if len(report.memory) == 1 else ""
    heading = f"{kind}bytes while training with {optimizer}{regime}, in {units.decimal}"
    yield f"{heading[0].upper()}{heading[1:]}"
    if len(report.memory) == 1:
        yield from _by_table(report, report.memory[0], units)
    else:
        yield from _by_regime(report.memory, units)


def legend_lines(report: EstimateReport, units: Units) -> Iterator[str]:
    """What the units and the regimes mean."""
    yield f"{units.legend}; B/param is bytes a parameter."
    meanings = [f"{row.regime.name}: {row.regime.meaning}" for row in report.memory]
    yield from wrapped("; ".join(meanings))


def _by_regime(rows: Sequence[MemoryRow], units: Units) -> list[str]:
    columns = _state_columns(rows)
    lines = [["regime", "B/param", *_titles(columns, units)]]
    lines.extend(
        [name, f"{row.bytes_per_parameter:.4g}", *_cells(row.bytes, columns, units)]
        for name, row in merged(rows)
    )
    return table(lines, "l" + "r" * (len(lines[0]) - 1), indent=0, gap=1)


def merged(rows: Sequence[MemoryRow]) -> Iterator[tuple[str, MemoryRow]]:
    """Rows with their names; bf16 and fp16 take the same: one line when both are there."""
    names = [row.regime.name for row in rows]
    both = "bf16" in names and "fp16" in names
    for row in rows:
        if both and row.regime.name == "fp16":
            continue
        yield ("bf16, fp16" if both and row.regime.name == "bf16" else row.regime.name), row


def _by_table(report: EstimateReport, row: MemoryRow, units: Units) -> list[str]:
    columns = _state_columns([row])
    lines = [["table", *_titles(columns, units)]]
    lines.extend(
        [item.role.value.replace("_", " "), *_cells(size, columns, units)]
        for item, size in zip(report.tables, row.tables, strict=True)
        if not item.shared
    )
    lines.append(
        [f"all ({row.bytes_per_parameter:.4g} B/param)", *_cells(row.bytes, columns, units)]
    )
    return table(lines, "l" + "r" * (len(lines[0]) - 1), indent=0, gap=1)


def _state_columns(rows: Sequence[MemoryRow]) -> tuple[str, ...]:
    """The moments where an optimizer has nothing else, else its state as a whole."""
    sizes = [row.bytes for row in rows]
    if not any(size.optimizer_state for size in sizes):
        return ()
    if any(size.other_state for size in sizes):
        return ("state",)
    return ("exp_avg", "exp_avg_sq") if sizes[0].exp_avg_sq is not None else ("exp_avg",)


def _titles(columns: tuple[str, ...], units: Units) -> tuple[str, ...]:
    return ("weights", "gradients", "master", *columns, "total", units.binary)


def _cells(size: Bytes, columns: tuple[str, ...], units: Units) -> list[str]:
    states = {"state": size.optimizer_state, "exp_avg": size.exp_avg, "exp_avg_sq": size.exp_avg_sq}
    parts = (size.weights, size.gradients, size.master_weights, *(states[c] for c in columns))
    cells = [units.in_decimal(part) if part else "-" for part in parts]
    return [*cells, units.in_decimal(size.total), units.in_binary(size.total)]


def transient_lines(variants: Variants) -> Iterator[str]:
    """What a step needs for a moment on top."""
    peaks = [row.transients.peak for report in variants for row in report.memory]
    if not any(peaks):
        return
    units = units_for(peaks)
    yield f"Peak: on top for a moment of a step (transient), up to, in {units.decimal}"
    titles = [
        f"{variant_name(report)} {part}" if len(variants) > 1 else part
        for report in variants
        for part in ("backward", "optimizer")
    ]
    lines = [["regime", *titles]]
    for index, (name, _) in _numbered(variants[0].memory):
        cells = [
            units.in_decimal(part) if part else "-"
            for report in variants
            for part in (
                report.memory[index].transients.backward,
                report.memory[index].transients.optimizer_step,
            )
        ]
        lines.append([name, *cells])
    yield from table(lines, "l" + "r" * len(titles), indent=0)


def _numbered(rows: Sequence[MemoryRow]) -> Iterator[tuple[int, tuple[str, MemoryRow]]]:
    for name, row in merged(rows):
        yield list(rows).index(row), (name, row)
