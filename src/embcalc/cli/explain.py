from __future__ import annotations

from typing import Annotated

import typer

from embcalc.cli.options import OutputOption, RowsFormat, RowsFormatOption
from embcalc.cli.output import deliver
from embcalc.cli.rendering import rendered


def explain(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="A rule's code or name. [default: list all rules]"),
    ] = None,
    output_format: RowsFormatOption = RowsFormat.TEXT,
    output: OutputOption = None,
) -> None:
    """Say what a rule checks, why, and how to fix it.

    Example: embcalc explain EMB101
    """
    from embcalc.rules import RULES
    from embcalc.usecases.explain import find_rule

    rules = RULES if code is None else (find_rule(code),)
    deliver(rendered(rules, "explain", output_format), output)
