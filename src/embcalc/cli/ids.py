from __future__ import annotations

import re

from embcalc.errors import UsageError

_LONGEST = 20
"""Digits of the largest 64-bit number."""
_NUMBER = re.compile(rf"[+-]?[0-9]{{1,{_LONGEST}}}")
_RANGE = re.compile(rf"([0-9]{{1,{_LONGEST}}})(?:-([0-9]{{1,{_LONGEST}}}))?")


def id_list(given: str, option: str) -> list[int]:
    """Parse `1,2,3`; brackets and blanks are allowed, as pasted from Python.

    Raises:
        UsageError: it holds no ids, or something that is none.
    """
    inner = given.strip().removeprefix("[").removesuffix("]").strip()
    if not inner:
        raise UsageError(f"{option} {given!r} holds no id", "write whole numbers: 1,2,3")
    return [_id(part, option) for piece in inner.split(",") for part in piece.split() or [""]]


def _id(part: str, option: str) -> int:
    if not part:
        raise UsageError(
            f"{option} has a comma without an id beside it", "write whole numbers: 1,2,3"
        )
    if not _NUMBER.fullmatch(part):
        raise UsageError(
            f"{option} holds {_shown(part)}, which is no token id", "write whole numbers: 1,2,3"
        )
    return int(part)


def _shown(part: str) -> str:
    return repr(part if len(part) <= _LONGEST else part[:_LONGEST] + "…")


def row_ranges(given: str, option: str, most: int = 10_000) -> list[int]:
    """Parse `0,5-9`: single rows and ranges with both ends included.

    Raises:
        UsageError: it is no such list, or names more than `most` rows.
    """
    rows: dict[int, None] = {}
    for part in given.replace(",", " ").split():
        found = _RANGE.fullmatch(part)
        if found is None:
            raise UsageError(
                f"{option} holds {_shown(part)}, which is no row or range", "write 0,5-9"
            )
        low, high = int(found[1]), int(found[2] or found[1])
        if high < low:
            raise UsageError(f"{option} {part!r} runs backwards", hint=f"write {high}-{low}")
        if high - low >= most or len(rows) + high - low >= most:
            raise UsageError(
                f"{option} names over {most:,} rows", hint="--export writes all rows to a file"
            )
        rows.update(dict.fromkeys(range(low, high + 1)))
    if not rows:
        raise UsageError(f"{option} {given!r} holds no row", "write 0,5-9")
    return list(rows)
