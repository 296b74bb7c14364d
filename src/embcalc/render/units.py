"""One pair of units for a whole table: powers of ten beside powers of two."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Units:
    """A decimal unit and its binary neighbour."""

    decimal: str
    decimal_bytes: int
    binary: str
    binary_bytes: int
    legend: str
    """What both mean."""
    digits: int = 3
    """Digits after the point: as many as keep a column of the largest number narrow."""

    def in_decimal(self, nbytes: int) -> str:
        """`4.608`; what would round to 0 gets two digits that count, `0.0031`."""
        return _fixed(nbytes / self.decimal_bytes, self.digits)

    def in_binary(self, nbytes: int) -> str:
        """`4.292`."""
        return _fixed(nbytes / self.binary_bytes, self.digits)


def _fixed(number: float, digits: int) -> str:
    text = f"{number:,.{digits}f}"
    if number <= 0 or text.strip("0."):
        return text
    most = digits + 3
    if number < 10**-most:
        return f"<{10**-most:.{most}f}"
    return f"{number:.{1 - math.floor(math.log10(number))}f}"


def _pair(letter: str, power: int) -> Units:
    decimal = "kB" if letter == "K" else f"{letter}B"
    return Units(
        decimal,
        1000**power,
        f"{letter}iB",
        1024**power,
        f"{decimal} is 10^{3 * power} bytes, {letter}iB is 2^{10 * power}",
    )


PAIRS = tuple(_pair(letter, power) for power, letter in enumerate("KMGTPEZY", start=1))


def units_for(sizes: Iterable[int]) -> Units:
    """The pair in which the largest of these sizes has one to three digits before the point."""
    largest = max(sizes, default=0)
    fitting = [pair for pair in PAIRS if largest >= pair.decimal_bytes]
    units = fitting[-1] if fitting else PAIRS[0]
    return replace(units, digits=2) if largest >= 100 * units.decimal_bytes else units


def both_units(nbytes: int) -> str:
    """`4.608 GB (4.292 GiB)`; bytes where there are few."""
    if nbytes < 1000:
        return f"{nbytes:,} bytes"
    units = replace(units_for([nbytes]), digits=3)
    return f"{units.in_decimal(nbytes)} {units.decimal} ({units.in_binary(nbytes)} {units.binary})"
