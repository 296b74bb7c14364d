"""Batches, ranks and budgets, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embcalc.core.budget import Budget
from embcalc.core.reports.estimate import EstimateReport
from embcalc.core.sharding import Layout, PerRank
from embcalc.render.layout import table
from embcalc.render.text.estimate_memory import Variants, merged, variant_name
from embcalc.render.units import Units, both_units, units_for


def batch_lines(variants: Variants) -> Iterator[str]:
    """What a batch takes, and the one-hot form of the lookup beside it."""
    batch = variants[0].activations
    if batch is None:
        return
    size, length = batch.batch.size, batch.batch.length
    yield f"Batch of {size:,} x {length:,} tokens, {batch.regime}, loss {batch.loss.value}"
    yield from table(
        [
            ["input ids", both_units(batch.input_ids_bytes), ""],
            ["lookup output", both_units(batch.lookup_output_bytes), "0 operations"],
            ["logits at peak", both_units(batch.logits_peak_bytes), ""],
            [
                "one-hot instead",
                both_units(batch.one_hot_bytes),
                f"{batch.one_hot_flops:.3g} operations, fp32",
            ],
        ],
        "lrl",
        indent=0,
    )


def rank_lines(variants: Variants) -> Iterator[str]:
    """Bytes on one rank."""
    ranks = [report.per_rank for report in variants if report.per_rank is not None]
    if not ranks:
        return
    layout = ranks[0].layout
    units = units_for(size for rank in ranks for size in rank.bytes.values())
    yield f"On a rank ({_layout(layout)}), in {units.decimal} ({units.binary})"
    if layout.tensor_parallel is not None:
        first = ranks[0]
        yield f"{first.padded_rows:,} rows after padding, {first.rows_a_rank:,} on a rank"
    titles, columns = _rank_columns(variants, ranks)
    lines = [["regime", *titles]]
    for name, row in merged(variants[0].memory):
        sizes = [column[row.regime.name] for column in columns]
        lines.append([name, *(_both(size, units, narrow=len(sizes) > 2) for size in sizes)])
    yield from table(lines, "l" + "r" * len(titles), indent=0)


def _both(size: int, units: Units, *, narrow: bool) -> str:
    decimal = units.in_decimal(size)
    return decimal if narrow else f"{decimal} ({units.in_binary(size)})"


def _rank_columns(
    variants: Variants, ranks: Sequence[PerRank]
) -> tuple[list[str], list[dict[str, int]]]:
    titles, columns = [], []
    for report, rank in zip(variants, ranks, strict=True):
        prefix = f"{variant_name(report)} " if len(variants) > 1 else ""
        if rank.layout.pipeline_parallel == 1:
            titles.append(f"{prefix}rank".strip())
            columns.append(dict(rank.bytes))
        else:
            titles.extend([f"{prefix}first", f"{prefix}last"])
            columns.extend([dict(rank.first_stage), dict(rank.last_stage)])
    return titles, columns


def _layout(layout: Layout) -> str:
    parts = []
    if layout.zero_stage or layout.data_parallel > 1:
        parts.append(f"ZeRO stage {layout.zero_stage} over {layout.data_parallel:,}")
    if layout.tensor_parallel is not None:
        parts.append(f"tensor parallel {layout.tensor_parallel:,}")
    if layout.pipeline_parallel > 1:
        parts.append(f"pipeline {layout.pipeline_parallel:,}")
    return ", ".join(parts) or "one device"


def budget_lines(variants: Variants) -> Iterator[str]:
    """Whether each regime fits, and what would."""
    budgets = [report.budget for report in variants if report.budget is not None]
    if not budgets:
        return
    yield f"Budget {both_units(budgets[0].bytes)}"
    for report, budget in zip(variants, budgets, strict=True):
        yield from _budget_table(report, budget, named=len(variants) > 1)


def _budget_table(report: EstimateReport, budget: Budget, *, named: bool) -> list[str]:
    units = units_for(budget.needs.values())
    with_batch = budget.largest_batch_tokens is not None
    lines = [
        [
            variant_name(report) if named else "regime",
            f"needs {units.decimal}",
            "fits",
            "largest vocabulary",
            *(["largest B x T"] if with_batch else []),
        ]
    ]
    tokens = budget.largest_batch_tokens
    for name, row in merged(report.memory):
        regime = row.regime.name
        lines.append(
            [
                name,
                units.in_decimal(budget.needs[regime]),
                "yes" if budget.fits[regime] else "no",
                f"{budget.largest_vocab_size[regime]:,}",
                *([] if tokens is None else [f"{tokens[regime]:,}"]),
            ]
        )
    return table(lines, "lrlrr" if with_batch else "lrlr", indent=0)
