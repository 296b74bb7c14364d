"""Whole numbers as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from embcalc.cli.usage import ValueOfOptionError

if TYPE_CHECKING:
    from fractions import Fraction

_WHOLE = re.compile(r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,3}(?:_[0-9]{3})+)")
_ROUND = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)(?:[eE]\+?([0-9]{1,2})|([kKmMgGbBtT]))")
_POWERS = {"m": 6, "g": 9, "b": 9, "t": 12}
_MOST_LETTERS = 24


def number(
    *names: str,
    help: str,  # noqa: A002 - as Typer calls it
    metavar: str = "N",
    show_default: bool = True,
) -> object:
    """Make an option that takes a whole number; `names` as typed, the long one first."""
    return typer.Option(
        *names,
        metavar=metavar,
        parser=whole_number(names[0]),
        help=help,
        show_default=show_default,
    )


def whole_number(option: str) -> Callable[[str | int], int]:
    """Make the parser of an option that takes `150000`, `150,000` or `150_000`."""

    def parse(given: str | int) -> int:
        if isinstance(given, int):
            return given
        text = given.strip()
        if len(text) > _MOST_LETTERS:
            raise ValueOfOptionError(f"{option} {_quoted(text)} is too long for a number", None)
        if not _WHOLE.fullmatch(text):
            raise ValueOfOptionError(
                f"{option} {_quoted(given)} is no whole number", hint=_instead(text)
            )
        return int(text.replace(",", "").replace("_", ""))

    return parse


def _quoted(given: str) -> str:
    return f"'{given if len(given) <= 40 else given[:39] + '…'}'"


def _instead(text: str) -> str:
    """What to write, where a round number was meant; else an example."""
    from fractions import Fraction

    match = _ROUND.fullmatch(text)
    if match is None:
        return "write digits, as 64 or 150,000"
    number, exponent, letter = Fraction(match[1]), match[2], (match[3] or "").lower()
    if letter == "k":
        return f"k is 1,000 or 1,024: write {_digits(number * 1000)} or {_digits(number * 1024)}"
    return f"write {_digits(number * 10 ** (int(exponent) if exponent else _POWERS[letter]))}"


def _digits(number: Fraction) -> str:
    return f"{int(number):,}"
