from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")] = Path(
        "embcalc-demo"
    ),
) -> None:
    """Write a tiny, complete model to try the other commands on.

    Example: embcalc demo tiny
    """
    from embcalc.render.layout import safe
    from embcalc.usecases.demo import write_demo

    names = write_demo(folder)
    place = safe(str(folder))
    typer.echo(f"wrote {', '.join(names)} to {place}")
    typer.echo("try:")
    for line in (f"inspect {place}", f"check-vocab {place}"):
        typer.echo(f"  embcalc {line}")
