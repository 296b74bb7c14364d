"""A bar on stderr for work that takes long: only on a terminal, gone when the work ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from embcalc.core.progress import Progress, silent

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

LEAST_WIDTH = 64
"""Columns of a terminal that a label, a bar and the numbers need."""
NUMBERS = 38
"""Columns that the longest numbers and the blanks between take."""


@contextmanager
def progress_bar(*, wanted: bool = True) -> Iterator[Progress]:
    """Give a `Progress` that draws bytes done, rate and remaining time on stderr.

    Draws nothing where stderr is no terminal or nothing is `wanted`. The cursor and the line are
    restored on errors and on Ctrl-C.
    """
    if not wanted or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from embcalc.sources.keeping import WATCH

    # In colour where the result could be: NO_COLOR is rich's to heed.
    console = Console(stderr=True, no_color=None if sys.stdout.isatty() else True)
    tasks: dict[str, TaskID] = {}
    with Bar(*_columns(console.width), console=console, transient=True) as bar:

        def report(label: str, done: int, total: int) -> None:
            if label not in tasks:
                from embcalc.render.layout import clip, safe

                tasks[label] = bar.add_task(clip(safe(label), _label(console.width)), total=total)
            bar.update(tasks[label], completed=done)

        token = WATCH.set(report)
        try:
            yield report
        finally:
            WATCH.reset(token)


def _label(width: int) -> int:
    """Columns of a label at most."""
    return min(32, width - 50)


def _columns(width: int) -> Sequence[ProgressColumn]:
    """What a bar of so many columns shows: the numbers alone where there is room for no more."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    numbers = (DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    if width < LEAST_WIDTH:
        return numbers
    # No markup: a label is a tensor's or a file's name.
    name = TextColumn("{task.description}", markup=False)
    return (name, BarColumn(min(40, width - _label(width) - NUMBERS)), *numbers)
