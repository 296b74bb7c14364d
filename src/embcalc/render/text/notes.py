from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from embcalc.render.layout import WIDTH, cell_width, clip, isolated, quoted, safe

_FILLER = "\ue000"
"""Stands for the second column of a wide character; `safe` leaves none in a text."""


def wrapped(text: str) -> list[str]:
    """Fold a sentence into the width of the terminal, its continuation indented."""
    return folded(safe(text))


def folded(shown: str) -> list[str]:
    """The same with a text that is safe already."""
    if cell_width(shown) <= len(shown):
        return _folded(shown, WIDTH)
    # One column less: a line may end between a wide character and what stands for its half.
    spread = "".join(_FILLER * (cell_width(char) - 1) + char for char in shown)
    return [line.replace(_FILLER, "") for line in _folded(spread, WIDTH - 1)]


def _folded(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)


def note_lines(notes: Iterable[str]) -> Iterator[str]:
    """Lay out what a reader should know."""
    for note in notes:
        yield from wrapped(f"note: {note}")


def token_name(text: str | None, width: int) -> str:
    """A token for people: between quotes where it begins or ends with a space."""
    return "(no token)" if text is None else isolated(clip(quoted(text), width))
