"""One pair of units for a whole table: powers of ten beside powers of two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Units:
    """A decimal unit and its binary neighbour."""

    decimal: str
    decimal_bytes: int
    binary: str
    binary_bytes: int
    legend: str
    """What both mean."""

    def in_decimal(self, nbytes: int) -> str:
        """`4.608`."""
        return _number(nbytes, self.decimal_bytes)

    def in_binary(self, nbytes: int) -> str:
        """`4.292`."""
        return _number(nbytes, self.binary_bytes)


def _number(nbytes: int, factor: int) -> str:
    return f"{nbytes:,}" if factor == 1 else f"{nbytes / factor:,.3f}"


def _pair(letter: str, power: int) -> Units:
    decimal = "kB" if letter == "K" else f"{letter}B"
    return Units(
        decimal,
        1000**power,
        f"{letter}iB",
        1024**power,
        f"{decimal} is 10^{3 * power} bytes, {letter}iB is 2^{10 * power}",
    )


PAIRS = tuple(_pair(letter, power) for power, letter in enumerate("KMGTPE", start=1))
BYTES = Units("bytes", 1, "bytes", 1, "bytes")


def units_for(sizes: Iterable[int]) -> Units:
    """The pair in which the largest of these sizes has one to three digits before the point."""
    largest = max(sizes, default=0)
    fitting = [pair for pair in PAIRS if largest >= pair.decimal_bytes]
    return fitting[-1] if fitting else PAIRS[0]


def both_units(nbytes: int) -> str:
    """`4.608 GB (4.292 GiB)`; bytes where there are few."""
    if nbytes < 1000:
        return f"{nbytes:,} bytes"
    units = units_for([nbytes])
    return f"{units.in_decimal(nbytes)} {units.decimal} ({units.in_binary(nbytes)} {units.binary})"
