from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from embcalc.cli.options import (
    CacheOption,
    ModelArgument,
    OutputOption,
    RowsFormat,
    TokenizerOption,
)
from embcalc.cli.output import deliver

if TYPE_CHECKING:
    from embcalc.core.reports.lookup import LookupReport


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
        int | None, typer.Option(help="Id that fills up. [default: the tokenizer's, the config's]")
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
    _cache: CacheOption = False,
    output: OutputOption = None,
) -> None:
    """Follow text to tokens, to ids, to rows of the embedding table.

    Example: embcalc lookup MODEL --text "some words"
    """
    from embcalc.cli.ids import id_list
    from embcalc.usecases.lookup import lookup as look_up

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
    deliver(_rendered(report, output_format, vectors), output)


def _rendered(report: LookupReport, output_format: RowsFormat, vectors: bool) -> str:
    from embcalc.render.csv import lookup as as_csv
    from embcalc.render.json import lookup as as_json
    from embcalc.render.markdown import lookup as as_markdown
    from embcalc.render.text import lookup as as_text

    if output_format is RowsFormat.JSON:
        return as_json.render(report, vectors=vectors)
    if output_format is RowsFormat.CSV:
        return as_csv.render(report, vectors=vectors)
    if output_format is RowsFormat.MARKDOWN:
        return as_markdown.render(report)
    return as_text.render(report)
