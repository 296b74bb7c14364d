from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embcalc.cli.exit_codes import ExitCode
from embcalc.cli.options import ModelArgument, OutputOption, RowsFormat, TokenizerOption
from embcalc.cli.output import deliver

if TYPE_CHECKING:
    from embcalc.core.reports.check import CheckReport

_CODES = "Codes or their beginnings, separated by commas"


def check_vocab(
    model: ModelArgument,
    tokenizer: TokenizerOption = None,
    base: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="The model that it was made from, or an adapter's."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Compare with its vocabulary, token by token."),
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option(metavar="CODES", help=f"{_CODES}: run only these.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CODES", help=f"{_CODES}: leave these out.")
    ] = None,
    allow_token: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A token that may lack a row.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail too.")] = False,
    no_weights: Annotated[bool, typer.Option("--no-weights", help="Read no weights.")] = False,
    output_format: Annotated[
        RowsFormat, typer.Option("--format", help="Format of the result.")
    ] = RowsFormat.TEXT,
    output: OutputOption = None,
) -> None:
    """Check that a tokenizer and an embedding table fit together.

    Example: embcalc check-vocab MODEL
    """
    from embcalc.usecases.check_vocab import CheckOptions
    from embcalc.usecases.check_vocab import check_vocab as run
    from embcalc.usecases.settings import read_file_settings

    file = read_file_settings(Path.cwd())
    options = CheckOptions(
        tokenizer=tokenizer,
        base=base,
        against=against,
        select=_codes(select) or file.select,
        ignore=(*file.ignore, *_codes(ignore)),
        allow_tokens=(*file.allow_tokens, *(allow_token or ())),
        strict=strict or file.strict,
        weights=not (no_weights or file.no_weights),
    )
    report = run(model, options)
    deliver(_rendered(report, output_format), output)
    raise typer.Exit(ExitCode.OK if report.ok else ExitCode.FINDINGS)


def _codes(values: list[str] | None) -> tuple[str, ...]:
    return tuple(code for value in values or () for code in value.split(","))


def _rendered(report: CheckReport, output_format: RowsFormat) -> str:
    from importlib import import_module

    renderer = import_module(f"embcalc.render.{output_format.value}.check")
    return str(renderer.render(report))
