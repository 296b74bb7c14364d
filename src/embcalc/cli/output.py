"""Where a result goes: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from embcalc.render.files import whole_file


def deliver(text: str, output: Path | None) -> None:
    """Print a rendered result, or write it to `output` in one step.

    Raises:
        UsageError: the file cannot be written.
    """
    if output is None:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="backslashreplace")
        typer.echo(text, nl=not text.endswith("\n"))
        return
    with whole_file(output) as stream:
        stream.write((text if text.endswith("\n") else text + "\n").encode())
