"""Where a result goes: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path

from embcalc.cli.streams import ESCAPE, drop_stdout
from embcalc.errors import UsageError
from embcalc.render.files import whole_file


def deliver(text: str, output: Path | None) -> None:
    """Print a rendered result, or write it to `output` in one step.

    Raises:
        UsageError: the file cannot be written.
    """
    whole = text if text.endswith("\n") else text + "\n"
    if output is None:
        _print(whole)
        return
    with whole_file(output) as stream:
        stream.write(whole.encode())


def require_distinct(*files: Path | None) -> None:
    """Refuse outputs of one run that would write over each other.

    Raises:
        UsageError: two name one file.
    """
    places = [path.resolve() for path in files if path is not None and not path.is_char_device()]
    for place in places:
        if places.count(place) > 1:
            raise UsageError(f"two outputs write {place.name}", hint="give each its own file")


def _print(text: str) -> None:
    if hasattr(sys.stdout, "reconfigure"):
        # A terminal that lacks a character gets its escape, not a traceback.
        sys.stdout.reconfigure(errors=ESCAPE)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # `| head` has what it wanted: the exit code stays the verdict's.
        drop_stdout()
    except OSError as error:
        drop_stdout()
        raise UsageError(
            f"cannot write the result: {error.strerror or error}",
            hint="--output FILE writes it elsewhere",
        ) from error
