"""CSV that a spreadsheet opens without running what a token says."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from math import isfinite

from embcalc.render.layout import safe

Cell = str | int | float | bool | None
_FORMULA = ("=", "+", "-", "@")


def dumps(heading: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Write rows under a heading; None is an empty cell, and so is a float that is not finite.

    Texts have their control characters escaped, and one that a spreadsheet would take for a
    formula (it begins with `=`, `+`, `-` or `@`) gets an apostrophe in front. Numbers stay as
    they are, negative ones included.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(heading)
    for row in rows:
        writer.writerow([_cell(cell) for cell in row])
    return stream.getvalue()


def _cell(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and not isfinite(cell)):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str):
        return str(cell)
    text = safe(cell)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
