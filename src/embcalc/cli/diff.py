from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from embcalc.cli.exit_codes import ExitCode
from embcalc.cli.numbers import number
from embcalc.cli.options import (
    CacheOption,
    OutputOption,
    RowsFormat,
    RowsFormatOption,
    TensorOption,
    several,
)
from embcalc.cli.output import deliver
from embcalc.cli.rendering import rendered
from embcalc.cli.usage import ValueOfOptionError

ADDRESS = "A local file or folder, a hub id or an address, as for the other commands."


class Failure(StrEnum):
    """What exit code 1 may be asked for."""

    CHANGED = "changed"
    SHAPE = "shape"


First = Annotated[str, typer.Argument(metavar="A", help=ADDRESS, show_default=False)]
Second = Annotated[str, typer.Argument(metavar="B", help=ADDRESS, show_default=False)]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="changed|shape",
        autocompletion=lambda: list(Failure),
        help="Exit with 1 when any row was changed, added or removed, or when a shape differs.",
    ),
]
Top = Annotated[int, number("--top", "-k", help="Most changed rows to list.")]
TokenizerA = Annotated[
    str | None,
    typer.Option(
        "--tokenizer-a", metavar="PATH", help="A's tokenizer. [default: the one beside it]"
    ),
]
TokenizerB = Annotated[
    str | None,
    typer.Option(
        "--tokenizer-b", metavar="PATH", help="B's tokenizer. [default: the one beside it]"
    ),
]


def _failures(given: Sequence[str]) -> frozenset[Failure]:
    """Take `changed,shape` apart; the option may also be repeated."""
    words = several(given)
    for word in words:
        if word not in tuple(Failure):
            raise ValueOfOptionError(f"--fail-on cannot be '{word}'", "write changed or shape")
    return frozenset(Failure(word) for word in words)


def diff(
    a: First,
    b: Second,
    fail_on: FailOn = None,
    top: Top = 10,
    tensor: TensorOption = None,
    tokenizer_a: TokenizerA = None,
    tokenizer_b: TokenizerB = None,
    output_format: RowsFormatOption = RowsFormat.TEXT,
    _cache: CacheOption = False,
    output: OutputOption = None,
) -> None:
    """Compare tables and tokenizers of two checkpoints.

    Example: embcalc diff BASE FINE-TUNED
    """
    from embcalc.cli.progress import progress_bar
    from embcalc.usecases.diff import diff as compare

    wanted = _failures(fail_on or ())
    with progress_bar() as progress:
        report = compare(
            a,
            b,
            top=top,
            tensor=tensor,
            tokenizer_a=tokenizer_a,
            tokenizer_b=tokenizer_b,
            progress=progress,
        )
    deliver(rendered(report, "diff", output_format), output)
    failed = (Failure.CHANGED in wanted and report.changed) or (
        Failure.SHAPE in wanted and report.reshaped
    )
    raise typer.Exit(ExitCode.FINDINGS if failed else ExitCode.OK)
