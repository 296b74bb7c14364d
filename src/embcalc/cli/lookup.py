from __future__ import annotations

from typing import Annotated

import typer

from embcalc.cli.numbers import whole_number
from embcalc.cli.options import (
    CacheOption,
    ModelArgument,
    OutputOption,
    RowsFormat,
    TokenizerOption,
)
from embcalc.cli.output import deliver
from embcalc.cli.rendering import rendered

_WITH_VECTORS = (RowsFormat.JSON, RowsFormat.CSV)


def lookup(
    model: ModelArgument,
    text: Annotated[
        list[str] | None,
        typer.Option("--text", help="Text to encode; may be repeated, one sequence each."),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--ids", metavar="1,2,3", help="Token ids; may be repeated, a sequence each."),
    ] = None,
    tokenizer: TokenizerOption = None,
    tensor: Annotated[
        str | None, typer.Option(help="Stored name of the table. [default: the token table]")
    ] = None,
    pad_id: Annotated[
        int | None,
        typer.Option(
            metavar="ID",
            parser=whole_number("--pad-id"),
            help="Id that fills up. [default: the tokenizer's, the config's]",
        ),
    ] = None,
    special_tokens: Annotated[
        bool, typer.Option(help="Add what the tokenizer's template adds, such as [CLS].")
    ] = True,
    one_hot: Annotated[
        bool, typer.Option("--one-hot", help="Show that one-hot times table gives the same.")
    ] = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Write every number (json, csv).")
    ] = False,
    output_format: Annotated[
        RowsFormat, typer.Option("--format", help="Format of the result.")
    ] = RowsFormat.TEXT,
    cache: CacheOption = False,
    output: OutputOption = None,
) -> None:
    """Follow text to tokens, to ids, to rows of the table.

    Example: embcalc lookup MODEL --text "some words"
    """
    from embcalc.cli.ids import id_list
    from embcalc.cli.progress import progress_bar
    from embcalc.errors import UsageError
    from embcalc.usecases.lookup import lookup as look_up

    if vectors and output_format not in (RowsFormat.JSON, RowsFormat.CSV):
        raise UsageError(
            f"--vectors has no effect on --format {output_format.value}",
            hint="add --format json or --format csv",
        )
    with progress_bar(wanted=cache):
        report = look_up(
            model,
            text=text or (),
            ids=[id_list(given, "--ids") for given in ids or ()],
            tokenizer=tokenizer,
            tensor=tensor,
            pad_id=pad_id,
            special_tokens=special_tokens,
            one_hot=one_hot,
        )
    settings = {"vectors": vectors} if output_format in _WITH_VECTORS else {}
    deliver(rendered(report, "lookup", output_format, **settings), output)
