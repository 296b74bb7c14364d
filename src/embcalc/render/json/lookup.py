from __future__ import annotations

from typing import Any

from embcalc.core.reports.lookup import LookupReport, LookupSequence, OneHot
from embcalc.render.json.document import dumps
from embcalc.render.json.numbers import shortest


def render(report: LookupReport, *, vectors: bool = False) -> str:
    """Write `embcalc/lookup/v1`; `vectors` asks for all numbers, `[B][T][d]`."""
    document = {
        "schema": "embcalc/lookup/v1",
        "model": report.model,
        "table": {
            "tensor": report.tensor,
            "dtype": report.dtype,
            "rows": report.rows,
            "width": report.width,
        },
        "tokenizer": report.tokenizer,
        "shape": list(report.shape),
        "pad": {"id": report.pad_id, "source": report.pad_source},
        "sequences": [
            _sequence(sequence, report.norms[index].tolist())
            for index, sequence in enumerate(report.sequences)
        ],
        "one_hot": None if report.one_hot is None else _one_hot(report.one_hot),
        "vectors": shortest(report.vectors) if vectors else None,
        "notes": list(report.notes),
    }
    return dumps(document)


def _sequence(sequence: LookupSequence, norms: list[float]) -> dict[str, Any]:
    return {
        "text": sequence.text,
        "ids": list(sequence.ids),
        "tokens": [token.text for token in sequence.tokens],
        "padding": [token.padding for token in sequence.tokens],
        "template": [token.template for token in sequence.tokens],
        "norms": norms,
    }


def _one_hot(one_hot: OneHot) -> dict[str, Any]:
    return {
        "max_difference": one_hot.max_difference,
        "one_hot_bytes": one_hot.one_hot_bytes,
        "flops": one_hot.flops,
        "lookup_bytes": one_hot.lookup_bytes,
    }
