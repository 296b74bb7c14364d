from __future__ import annotations

from typing import Any

from embcalc.core.reports.neighbors import NeighborsReport, QueryToken
from embcalc.render.json.document import dumps


def render(report: NeighborsReport) -> str:
    """Write `embcalc/neighbors/v1`."""
    return dumps(
        {
            "schema": "embcalc/neighbors/v1",
            "model": report.model,
            "table": {
                "tensor": report.tensor,
                "role": report.role,
                "dtype": report.dtype,
                "rows": report.table_rows,
                "width": report.width,
            },
            "tokenizer": report.tokenizer,
            "query": {
                "tokens": [_term(token) for token in report.query if not token.minus],
                "minus": [_term(token) for token in report.query if token.minus],
                "metric": report.metric,
                "centered": report.centered,
                "excluded": list(report.excluded),
                "excluded_rows": report.excluded_rows,
            },
            "undefined_rows": report.undefined_rows,
            "mean_cosine": report.mean_cosine,
            "neighbors": [
                {"row": item.row, "token": item.text, "score": item.score}
                for item in report.neighbors
            ],
            "notes": list(report.notes),
        }
    )


def _term(token: QueryToken) -> dict[str, Any]:
    return {"row": token.row, "token": token.text}
