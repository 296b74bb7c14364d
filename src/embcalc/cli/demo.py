from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer


def demo(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A folder to make, or an empty one. [default: embcalc-demo]",
            show_default=False,
        ),
    ] = Path("embcalc-demo"),
) -> None:
    """Write a tiny, complete model to try the commands on.

    Example: embcalc demo tiny
    """
    from embcalc.cli.output import deliver
    from embcalc.render.layout import safe
    from embcalc.usecases.demo import write_demo

    names = write_demo(folder)
    place = safe(shlex.quote(str(folder)))
    deliver(
        f"wrote {', '.join(names)} to {place}\ntry:\n"
        + "".join(f"  embcalc {line}\n" for line in (f"inspect {place}", f"check-vocab {place}")),
        None,
    )
