from __future__ import annotations

from typing import Annotated

import typer

from embcalc.cli.output import deliver


def explain(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="A rule's code or name. [default: list all rules]"),
    ] = None,
) -> None:
    """Say what a rule checks, why, and how to fix it.

    Example: embcalc explain EMB101
    """
    from embcalc.render.text.explain import listing, rule_text
    from embcalc.rules import RULES
    from embcalc.usecases.explain import find_rule

    deliver(listing(RULES) if code is None else rule_text(find_rule(code)), None)
