"""Sizes as people write them."""

from __future__ import annotations

import re
from fractions import Fraction

from embcalc.errors import UsageError

_SIZE = re.compile(r"\s*([0-9][0-9_,]*(?:\.[0-9]+)?(?:[eE]\+?[0-9]{1,2})?)\s*([A-Za-z]*)\s*")
_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "pb": 10**15,
    "eb": 10**18,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "pib": 2**50,
    "eib": 2**60,
}


def parse_size(text: str) -> int:
    """Bytes of a budget: `24GB` (powers of ten), `24GiB` (powers of two) or a bare number.

    Raises:
        UsageError: it is no size, its unit is ambiguous (`24G`), or it is no byte at all.
    """
    match = _SIZE.fullmatch(text)
    if match is None or len(text) > 40:
        raise UsageError(
            f"--budget {text[:40]!r} is no size", hint="write 24GB, 24GiB or a number of bytes"
        )
    number, unit = match[1].replace(",", "").replace("_", ""), match[2]
    factor = _UNITS.get(unit.lower())
    if factor is None:
        raise UsageError(
            f"--budget: the unit of {text.strip()!r} is not known",
            hint="write 24GB for 24 x 10^9 bytes or 24GiB for 24 x 2^30",
        )
    size = int(Fraction(number) * factor)
    if size < 1:
        raise UsageError(
            f"--budget {text.strip()!r} is less than a byte", hint="write 24GB or 24GiB"
        )
    return size
