from __future__ import annotations

from typing import Any

from embcalc.core.reports.diff import AddedRows, DiffReport, TableDiff, VocabularyDiff
from embcalc.render.json.document import dumps

MAX_LISTED = 1000
"""Longest list of tokens; the full count stands beside it."""


def render(report: DiffReport) -> str:
    """Write `embcalc/diff/v1`."""
    return dumps(
        {
            "schema": "embcalc/diff/v1",
            "a": {"model": report.model_a, "tying": report.tying_a},
            "b": {"model": report.model_b, "tying": report.tying_b},
            "changed": report.changed,
            "reshaped": report.reshaped,
            "tables": [_table(table) for table in report.tables],
            "only_in_a": list(report.only_a),
            "only_in_b": list(report.only_b),
            "tokenizers": None if report.vocabularies is None else _words(report.vocabularies),
            "notes": list(report.notes),
        }
    )


def _table(table: TableDiff) -> dict[str, Any]:
    return {
        "tensor": table.tensor_b,
        "tensor_a": table.tensor_a,
        "tensor_b": table.tensor_b,
        "role": table.role,
        "dtype_a": table.dtype_a,
        "dtype_b": table.dtype_b,
        "compared_as": table.compared_as if table.comparable else None,
        "rows_a": table.rows_a,
        "rows_b": table.rows_b,
        "width_a": table.width_a,
        "width_b": table.width_b,
        "identical_rows": table.identical_rows,
        "changed_rows": table.changed_rows,
        "added_rows": table.added_rows,
        "removed_rows": table.removed_rows,
        "nonfinite_rows": table.nonfinite_rows,
        "frozen": table.frozen,
        "most_changed": [
            {
                "row": row.row,
                "token": row.text,
                "delta_norm": row.delta_norm,
                "cosine": row.cosine,
            }
            for row in table.most_changed
        ],
        "added": None if table.added is None else _added(table.added),
    }


def _added(added: AddedRows) -> dict[str, Any]:
    return {
        "count": added.count,
        "zero": added.zero,
        "at_mean": added.at_mean,
        "repeated": added.repeated,
        "elsewhere": added.elsewhere,
        "median_norm": added.median_norm,
        "mean_distance": added.mean_distance,
    }


def _words(words: VocabularyDiff) -> dict[str, Any]:
    return {
        "file_a": words.file_a,
        "file_b": words.file_b,
        "size_a": words.size_a,
        "size_b": words.size_b,
        "same": words.same,
        "moved_count": len(words.moved),
        "moved": [
            {"token": token.text, "id_a": token.id_a, "id_b": token.id_b}
            for token in words.moved[:MAX_LISTED]
        ],
        "added_count": len(words.added),
        "added": _listed(words.added),
        "removed_count": len(words.removed),
        "removed": _listed(words.removed),
    }


def _listed(tokens: tuple[tuple[int, str], ...]) -> list[dict[str, Any]]:
    return [{"id": token, "token": text} for token, text in tokens[:MAX_LISTED]]
