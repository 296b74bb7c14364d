from __future__ import annotations

from typing import Annotated

import typer

from embcalc.cli.numbers import number
from embcalc.cli.options import (
    CacheOption,
    ModelArgument,
    OutputOption,
    RowsFormat,
    RowsFormatOption,
    TokenizerOption,
)
from embcalc.cli.output import deliver
from embcalc.cli.rendering import rendered

_WITH_VECTORS = (RowsFormat.JSON, RowsFormat.CSV)


Text = Annotated[
    list[str] | None,
    typer.Option(
        "--text", metavar="TEXT", help="Text to encode; may be repeated, one sequence each."
    ),
]
Ids = Annotated[
    list[str] | None,
    typer.Option("--ids", metavar="1,2,3", help="Token ids; may be repeated, a sequence each."),
]
Tensor = Annotated[
    str | None,
    typer.Option(
        "--tensor", metavar="NAME", help="Stored name of the table. [default: the token table]"
    ),
]
PadId = Annotated[
    int | None,
    number(
        "--pad-id",
        metavar="ID",
        help="Id that fills up. [default: the tokenizer's, the config's]",
    ),
]
SpecialTokens = Annotated[
    bool,
    typer.Option(
        "--special-tokens/--no-special-tokens",
        help="Add what the tokenizer's template adds, such as [CLS].",
    ),
]
OneHot = Annotated[
    bool, typer.Option("--one-hot", help="Show that one-hot times table gives the same.")
]
Vectors = Annotated[bool, typer.Option("--vectors", help="Write every number (json, csv).")]


def lookup(
    model: ModelArgument,
    text: Text = None,
    ids: Ids = None,
    tokenizer: TokenizerOption = None,
    tensor: Tensor = None,
    pad_id: PadId = None,
    special_tokens: SpecialTokens = True,
    one_hot: OneHot = False,
    vectors: Vectors = False,
    output_format: RowsFormatOption = RowsFormat.TEXT,
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
