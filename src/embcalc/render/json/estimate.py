from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from embcalc.core.memory import Bytes, Table
from embcalc.core.reports.estimate import EstimateReport, MemoryRow
from embcalc.render.json.document import dumps

if TYPE_CHECKING:
    from embcalc.core.budget import Budget
    from embcalc.core.formulas import Explanation
    from embcalc.core.growth import FineTuning, Growth
    from embcalc.core.logits import Activations
    from embcalc.core.sharding import PerRank


def render(report: EstimateReport) -> str:
    """Write `embcalc/estimate/v1`."""
    model, counts = report.model, report.parameters
    return dumps(
        {
            "schema": "embcalc/estimate/v1",
            "model": {
                "name": model.name,
                "source": model.source,
                "vocab_size": model.vocab_size,
                "hidden_size": model.hidden_size,
                "tied": model.tied,
                "tied_source": model.tied_source,
                "tied_from": model.tied_from,
            },
            "tables": [_table(table) for table in report.tables],
            "stored": [
                {"tensor": s.name, "role": s.role.value, "dtype": s.dtype, "bytes": s.nbytes}
                for s in report.stored
            ],
            "parameters": {
                "total": counts.total,
                "trainable": counts.trainable,
                "saved_by_tying": counts.saved_by_tying,
                "model_total": counts.model_total,
                "share_of_model": counts.share_of_model,
            },
            "memory": [_memory(row, report.tables) for row in report.memory],
            "growth": report.growth and _growth(report.growth),
            "fine_tuning": report.fine_tuning and _fine_tuning(report.fine_tuning),
            "activations": report.activations and _activations(report.activations),
            "per_rank": report.per_rank and _per_rank(report.per_rank),
            "budget": report.budget and _budget(report.budget),
            "explanations": [_explanation(item) for item in report.explanations],
            "assumptions": list(report.assumptions),
        }
    )


def _table(table: Table) -> dict[str, Any]:
    return {
        "role": table.role.value,
        "rows": table.rows,
        "width": table.width,
        "parameters": table.parameters,
        "trainable_parameters": table.trainable_parameters,
        "shared": table.shared,
    }


def _memory(row: MemoryRow, tables: tuple[Table, ...]) -> dict[str, Any]:
    return {
        "precision": row.regime.name,
        "optimizer": row.optimizer,
        "bytes": _bytes(row.bytes),
        "bytes_per_parameter": row.bytes_per_parameter,
        "tables": [
            {"role": table.role.value, "bytes": _bytes(size)}
            for table, size in zip(tables, row.tables, strict=True)
        ],
        "transient": {
            "backward": row.transients.backward,
            "optimizer_step": row.transients.optimizer_step,
            "peak": row.bytes.total + row.transients.peak,
        },
    }


def _bytes(size: Bytes) -> dict[str, Any]:
    return {
        "weights": size.weights,
        "gradients": size.gradients,
        "master_weights": size.master_weights,
        "optimizer_state": size.optimizer_state,
        "exp_avg": size.exp_avg,
        "exp_avg_sq": size.exp_avg_sq,
        "total": size.total,
    }


def _growth(growth: Growth) -> dict[str, Any]:
    return {
        "old_rows": growth.old_rows,
        "requested_rows": growth.requested_rows,
        "new_rows": growth.new_rows,
        "padding_rows": growth.padding_rows,
        "added_parameters": growth.added_parameters,
        "added_bytes": dict(growth.added_bytes),
        "total_bytes": dict(growth.total_bytes),
        "added_logits_bytes": growth.added_logits_bytes,
    }


def _fine_tuning(ways: FineTuning) -> dict[str, Any]:
    return {
        "rows": ways.rows,
        "full": dict(ways.full),
        "modules_to_save": dict(ways.modules_to_save),
        "trainable_rows": dict(ways.trainable_rows),
    }


def _activations(batch: Activations) -> dict[str, Any]:
    return {
        "batch_size": batch.batch.size,
        "seq_len": batch.batch.length,
        "loss": batch.loss.value,
        "precision": batch.regime,
        "input_ids_bytes": batch.input_ids_bytes,
        "lookup_output_bytes": batch.lookup_output_bytes,
        "logits_peak_bytes": batch.logits_peak_bytes,
        "one_hot_bytes": batch.one_hot_bytes,
        "lookup_flops": batch.lookup_flops,
        "one_hot_flops": batch.one_hot_flops,
        "by_precision": {
            name: {"lookup_output_bytes": lookup, "logits_peak_bytes": logits}
            for name, (lookup, logits) in batch.by_regime.items()
        },
    }


def _per_rank(ranks: PerRank) -> dict[str, Any]:
    layout = ranks.layout
    return {
        "zero_stage": layout.zero_stage,
        "data_parallel": layout.data_parallel,
        "tensor_parallel": layout.tensor_parallel,
        "pipeline_parallel": layout.pipeline_parallel,
        "padded_rows": ranks.padded_rows,
        "rows_per_rank": ranks.rows_a_rank,
        "bytes": dict(ranks.bytes),
        "first_stage_bytes": dict(ranks.first_stage),
        "last_stage_bytes": dict(ranks.last_stage),
    }


def _budget(budget: Budget) -> dict[str, Any]:
    tokens: Mapping[str, int] | None = budget.largest_batch_tokens
    return {
        "bytes": budget.bytes,
        "needs": dict(budget.needs),
        "fits": dict(budget.fits),
        "largest_vocab_size": dict(budget.largest_vocab_size),
        "largest_batch_tokens": None if tokens is None else dict(tokens),
    }


def _explanation(item: Explanation) -> dict[str, Any]:
    return {
        "name": item.name,
        "formula": item.formula,
        "filled": item.filled,
        "source": item.source,
    }
