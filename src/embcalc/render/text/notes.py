from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from embcalc.render.layout import WIDTH, clip, safe


def wrapped(text: str) -> list[str]:
    """Fold a sentence into the width of the terminal, its continuation indented."""
    return textwrap.wrap(safe(text), WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def note_lines(notes: Iterable[str]) -> Iterator[str]:
    """Lay out what a reader should know."""
    for note in notes:
        yield from wrapped(f"note: {note}")


def token_name(text: str | None, width: int) -> str:
    """A token for people: between quotes where it begins or ends with a space."""
    if text is None:
        return "(no token)"
    name = safe(text)
    return clip(f'"{name}"' if name != name.strip() or not name else name, width)
