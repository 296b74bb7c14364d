"""Plain text for terminals: safe strings, aligned columns, sizes with their units.

Tables are laid out here and not by rich: importing rich's console costs 40 ms, more than the
whole start-up may (docs/architecture.md).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from unicodedata import bidirectional

from embcalc.core.safe_text import safe

__all__ = [
    "WIDTH",
    "binary_size",
    "cell_width",
    "clip",
    "clip_middle",
    "decimal_size",
    "isolated",
    "quoted",
    "safe",
    "table",
]

WIDTH = 80


_ISOLATE, _END = "\u2068", "\u2069"


def isolated(text: str) -> str:
    """Keep right-to-left text from moving what stands beside it on the line of a terminal.

    One that orders text by its direction would show the number of the next column before an Arabic
    or Hebrew word. The marks around it, first strong isolate and its end, take no column (Unicode
    Standard Annex 9, 6.3); controls that a text brings along are escaped by `safe`. Where stdout is
    no terminal there are no marks.
    """
    if text.isascii() or _ISOLATE in text or not sys.stdout.isatty():
        return text
    if any(bidirectional(char) in ("R", "AL", "AN") for char in text):
        return f"{_ISOLATE}{text}{_END}"
    return text


def quoted(text: str) -> str:
    """A text made safe, between quotes where one would not see where it begins or ends."""
    name = safe(text)
    return f'"{name}"' if name != name.strip() or not name else name


def cell_width(text: str) -> int:
    """Terminal columns that `text` takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    # Not every release of rich knows that the marks take no column.
    return cell_len(text.replace(_ISOLATE, "").replace(_END, ""))


def clip(text: str, width: int) -> str:
    """Cut `text` to at most `width` terminal columns, with an ellipsis where something went."""
    if cell_width(text) <= width:
        return text
    kept = ""
    for char in text:
        if cell_width(kept + char) > width - 1:
            break
        kept += char
    return kept + _END * (kept.count(_ISOLATE) - kept.count(_END)) + "…"


def clip_middle(text: str, width: int) -> str:
    """Cut `text` to at most `width` terminal columns; its end stays, for there numbers stand."""
    if cell_width(text) <= width:
        return text
    tail = ""
    for char in reversed(text):
        if cell_width(char + tail) > (width - 1) // 3:
            break
        tail = char + tail
    return clip(text, width - cell_width(tail)) + tail


def table(rows: Iterable[Sequence[str]], align: str, indent: int = 2, gap: int = 2) -> list[str]:
    """Lay out rows in columns.

    Args:
        rows: cells, already safe; the first row is usually the heading.
        align: one letter a column: `l` left, `r` right.
        indent: blanks before the first column.
        gap: blanks between columns.
    """
    grid = [[isolated(cell) for cell in row] for row in rows]
    widths = [max(cell_width(row[i]) for row in grid) for i in range(len(align))] if grid else []
    lines = []
    for row in grid:
        cells = [
            " " * (width - cell_width(cell)) + cell
            if side == "r"
            else cell + " " * (width - cell_width(cell))
            for cell, width, side in zip(row, widths, align, strict=True)
        ]
        lines.append((" " * indent + (" " * gap).join(cells)).rstrip())
    return lines


_GB = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
_GIB = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def decimal_size(nbytes: int) -> str:
    """Bytes in powers of ten: `4.608 GB`."""
    return _size(nbytes, _GB)


def binary_size(nbytes: int) -> str:
    """Bytes in powers of two: `4.292 GiB`."""
    return _size(nbytes, _GIB)


def _size(nbytes: int, units: tuple[tuple[str, int], ...]) -> str:
    for name, factor in units:
        if nbytes >= factor:
            return f"{nbytes / factor:.3f} {name}"
    return f"{nbytes:,} B"
