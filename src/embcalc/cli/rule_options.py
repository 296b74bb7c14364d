"""Options of the commands that run rules."""

from __future__ import annotations

from typing import Annotated

import typer

_CODES = "Codes or their beginnings, separated by commas"

BaseOption = Annotated[
    str | None,
    typer.Option(
        "--base", metavar="MODEL", help="The model that it was made from, or an adapter's."
    ),
]
AgainstOption = Annotated[
    str | None,
    typer.Option("--against", metavar="MODEL", help="Compare with its vocabulary, token by token."),
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="CODES", help=f"{_CODES}: run only these."),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="CODES", help=f"{_CODES}: leave these out."),
]
AllowTokenOption = Annotated[
    list[str] | None,
    typer.Option("--allow-token", metavar="TEXT", help="A token that may lack a row."),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Warnings fail too.")]
NoWeightsOption = Annotated[bool, typer.Option("--no-weights", help="Read no weights.")]
