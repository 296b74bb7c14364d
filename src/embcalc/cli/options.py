"""Options and arguments that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A local file or folder, a hub id (org/name[@revision]) or an address (s3://, https://).",
        show_default=False,
    ),
]


def _require_place(context: typer.Context, path: Path | None) -> Path | None:
    if path == Path("-"):
        return None  # as other programs: stdout
    if path is not None and not context.resilient_parsing:
        from embcalc.render.files import require_place

        require_place(path)
    return path


OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        callback=_require_place,
        help="Write there instead of stdout: the whole result or nothing.",
        show_default=False,
    ),
]
TokenizerOption = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        metavar="PATH",
        help="Tokenizer file or folder. [default: the one beside the model]",
        show_default=False,
    ),
]


def _keep(wanted: bool) -> bool:
    # Set anew by every command line: several may run in one process.
    if wanted or "embcalc.sources.keeping" in sys.modules:
        from embcalc.sources.keeping import KEEP

        KEEP.set(wanted)
    return wanted


CacheOption = Annotated[
    bool,
    typer.Option(
        "--cache",
        callback=_keep,
        help="Keep weights that are read from the hub, whole files, in the hub's cache.",
    ),
]


TensorOption = Annotated[
    str | None,
    typer.Option(
        "--tensor", metavar="NAME", help="Stored name of the one table. [default: all tables]"
    ),
]


def several(values: Sequence[str] | None) -> tuple[str, ...]:
    """What an option was given: several words in one value, separated by commas, or repeated."""
    return tuple(word.strip() for value in values or () for word in value.split(","))


class Format(StrEnum):
    """Formats for commands whose result is one document."""

    TEXT = "text"
    JSON = "json"


class RowsFormat(StrEnum):
    """Formats for commands whose result has rows."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class FindingsFormat(StrEnum):
    """Formats for commands whose result is findings."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    GITHUB = "github"
    SARIF = "sarif"
    JUNIT = "junit"


_FORMAT = "Format of the result."
RowsFormatOption = Annotated[RowsFormat, typer.Option("--format", help=_FORMAT)]
FindingsFormatOption = Annotated[FindingsFormat, typer.Option("--format", help=_FORMAT)]
