"""Markdown tables whose cells cannot break out of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from embcalc.render.layout import quoted, safe

_ACTIVE = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$@:])")


def table(heading: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> list[str]:
    """Lay out a pipe table.

    Args:
        heading: column titles.
        rows: cells, already escaped (`escape`) where they come from a model.
        align: one letter a column: `l` left, `r` right.
    """
    rule = ["---:" if side == "r" else "---" for side in align]
    return [f"| {' | '.join(cells)} |" for cells in (heading, rule, *rows)]


def escape(text: str) -> str:
    """Make a text from a model harmless: controls, markup, HTML, table bars, mentions, links."""
    return _ACTIVE.sub(r"\\\1", safe(text))


def token(text: str | None, shown: str) -> str:
    """A token as a cell: as people read it, empty where no token has the row."""
    return "" if text is None else escape(quoted(shown))
