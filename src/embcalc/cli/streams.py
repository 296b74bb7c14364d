"""The standard streams, as whoever started the program left them."""

from __future__ import annotations

import codecs
import os
import sys
from contextlib import suppress

import typer

ESCAPE = "embcalc-escape"
"""Name of the error handler that writes a character which an encoding lacks as JSON escapes it."""


def open_closed_streams() -> None:
    """Give a stream that was closed from outside (`>&-`) the null device.

    Otherwise the next file that is opened takes its number, and what a library prints goes there.
    The null device is read-only as stdout: a result that nobody can get is an error. Messages may
    get lost.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def drop_stdout() -> None:
    """Let what is still buffered vanish: it cannot be written, and would fail again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(line: str) -> None:
    """Print a message on stderr; where nobody can read it, the exit code still tells."""
    with suppress(OSError):
        typer.echo(line, err=True)


def escape(error: UnicodeError) -> tuple[str, int]:
    r"""Write characters as `\uXXXX`, those past U+FFFF as two: valid in JSON, readable in text."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs), error.end


codecs.register_error(ESCAPE, escape)
