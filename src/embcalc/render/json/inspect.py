from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from embcalc.core.reports.inspect import (
    BeyondTokenizer,
    Candidate,
    Cluster,
    InspectReport,
    RowFinding,
    RowGroups,
    RowNorm,
    RowSet,
    SelectedRow,
    TableReport,
    Undertrained,
)
from embcalc.render.json.document import dumps


def render(report: InspectReport) -> str:
    """Write `embcalc/inspect/v1`."""
    return dumps(document(report))


def document(report: InspectReport) -> dict[str, Any]:
    """The document before it becomes text."""
    facts = report.checkpoint
    return {
        "schema": "embcalc/inspect/v1",
        "checkpoint": {
            "path": facts.path,
            "format": facts.format,
            "files": facts.files,
            "tensors": facts.tensors,
            "parameters": facts.parameters,
            "bytes": facts.nbytes,
        },
        "tying": {"verdict": report.tying.verdict, "reason": report.tying.reason},
        "tokenizer": report.tokenizer,
        "tables": [_table(table) for table in report.tables],
        "selected_rows": [_selected(row) for row in report.selected],
        "coverage": {
            "checked": list(report.checked),
            "skipped": [{"tensor": s.tensor, "reason": s.reason} for s in report.skipped],
        },
        "findings": [_finding(finding) for finding in report.findings],
    }


def _table(table: TableReport) -> dict[str, Any]:
    return {
        "tensor": table.tensor,
        "role": table.role,
        "dtype": table.dtype,
        "rows": table.rows,
        "width": table.width,
        "bytes": table.nbytes,
        "parameters": table.parameters,
        "share_of_parameters": table.share,
        "note": table.note,
        "norms": _norms(table),
        "histogram": _histogram(table),
        "smallest": [_row_norm(row) for row in table.smallest],
        "largest": [_row_norm(row) for row in table.largest],
        "zero_rows": _row_set(table.zero),
        "near_zero_rows": _row_set(table.near_zero),
        "nonfinite_rows": _row_set(table.nonfinite),
        "duplicate_rows": _groups(table.duplicates),
        "near_duplicate_rows": _optional(table.near_duplicates, _groups),
        "clusters": [_cluster(cluster) for cluster in table.clusters],
        "outlier_rows": _row_set(table.outliers),
        "beyond_tokenizer": _optional(table.beyond, _beyond),
        "undertrained": _optional(table.undertrained, _undertrained),
        "elements": {
            "mean": table.element_mean,
            "std": table.element_std,
            "absmax": table.element_absmax,
        },
        "fresh": {"sigma": table.fresh_sigma, "norm": table.fresh_norm},
        "columns": {
            "rows": table.column_rows,
            "dead": _row_set(table.dead_columns),
            "outliers": _row_set(table.outlier_columns),
        },
    }


def _optional(value: Any, write: Any) -> Any:  # noqa: ANN401 - any part of the document
    return None if value is None else write(value)


def _norms(table: TableReport) -> dict[str, Any] | None:
    norms = table.norms
    if norms is None:
        return None
    return {
        "min": norms.min,
        "max": norms.max,
        "mean": norms.mean,
        "std": norms.std,
        "percentiles": {str(percent): value for percent, value in norms.percentiles.items()},
    }


def _histogram(table: TableReport) -> dict[str, Any] | None:
    if table.histogram is None:
        return None
    return {"edges": list(table.histogram.edges), "counts": list(table.histogram.counts)}


def _row_norm(row: RowNorm) -> dict[str, Any]:
    return {"row": row.row, "token": row.token, "norm": row.norm}


def _row_set(rows: RowSet) -> dict[str, Any]:
    return {"count": rows.count, "rows": list(rows.rows)}


def _groups(groups: RowGroups) -> dict[str, Any]:
    return {"count": groups.count, "groups": [list(group) for group in groups.groups]}


def _cluster(cluster: Cluster) -> dict[str, Any]:
    return {
        "count": cluster.count,
        "cosine": cluster.cosine,
        "used": cluster.used,
        "rows": list(cluster.rows),
        "nearest": {"row": cluster.nearest, "token": cluster.token},
    }


def _beyond(beyond: BeyondTokenizer) -> dict[str, Any]:
    return {
        "tokens": beyond.tokens,
        "last_id": beyond.last_id,
        "padding": _row_set(beyond.padding),
        "reserved": _row_set(beyond.reserved),
        "uninitialised": _row_set(beyond.uninitialised),
        "uninitialised_reason": beyond.uninitialised_reason,
    }


def _undertrained(found: Undertrained) -> dict[str, Any]:
    return {
        "indicator": found.indicator,
        "reason": found.reason,
        "confidence": found.confidence,
        "reference": {"count": found.reference_count, "signs": list(found.signs)},
        "threshold": found.threshold,
        "suspects": found.suspects,
        "percentiles": {str(percent): value for percent, value in found.distances.items()},
        "candidates": _candidates(found.candidates),
        "apart": _candidates(found.apart),
    }


def _candidates(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    return [
        {
            "row": candidate.row,
            "token": candidate.token,
            "score": candidate.score,
            "category": candidate.category,
            "second_opinion": candidate.second,
        }
        for candidate in candidates
    ]


def _selected(row: SelectedRow) -> dict[str, Any]:
    return {
        "tensor": row.tensor,
        "row": row.row,
        "token": row.token,
        "norm": row.norm,
        "values": list(row.values),
        "flags": list(row.flags),
    }


def _finding(finding: RowFinding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        "tensor": finding.tensor,
        "rows": list(finding.rows),
    }
