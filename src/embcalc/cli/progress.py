"""A bar on stderr for work that takes long: only on a terminal, gone when the work ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from embcalc.core.progress import Progress, silent


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
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as Bar

    columns = (
        # No markup: a label is a tensor's or a file's name.
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:

        def report(label: str, done: int, total: int) -> None:
            if label not in tasks:
                from embcalc.render.layout import clip, safe

                tasks[label] = bar.add_task(clip(safe(label), 32), total=total)
            bar.update(tasks[label], completed=done)

        yield report
