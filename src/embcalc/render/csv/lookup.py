from __future__ import annotations

from embcalc.core.reports.lookup import LookupReport
from embcalc.render.csv.document import Cell, dumps


def render(report: LookupReport, *, vectors: bool = False) -> str:
    """One line a position; `vectors` adds a column for each of the `d` numbers."""
    heading = ["sequence", "position", "id", "token", "padding", "template", "norm"]
    if vectors:
        heading += [f"v{column}" for column in range(report.width)]
    rows: list[list[Cell]] = []
    for index, sequence in enumerate(report.sequences):
        for position, token in enumerate(sequence.tokens):
            norm = float(report.norms[index, position])
            row: list[Cell] = [index, position, token.id, token.text, token.padding]
            row += [token.template, norm]
            if vectors:
                row += [_number(value) for value in report.vectors[index, position]]
            rows.append(row)
    return dumps(heading, rows)


def _number(value: object) -> float:
    """The shortest decimal that gives a numpy scalar back."""
    return float(str(value))
