from __future__ import annotations

from embcalc.errors import UsageError


def id_list(given: str, option: str) -> list[int]:
    """Parse `1,2,3`; brackets and blanks are allowed, as pasted from Python.

    Raises:
        UsageError: it holds no ids, or something that is none.
    """
    parts = given.strip().removeprefix("[").removesuffix("]").replace(",", " ").split()
    try:
        found = [int(part) for part in parts]
    except ValueError:
        wrong = next(part for part in parts if not part.lstrip("+-").isdecimal())
        raise UsageError(
            f"{option} holds {wrong!r}, which is no token id", "write whole numbers: 1,2,3"
        ) from None
    if not found:
        raise UsageError(f"{option} {given!r} holds no id", "write whole numbers: 1,2,3")
    return found


def row_ranges(given: str, option: str, most: int = 10_000) -> list[int]:
    """Parse `0,5-9`: single rows and ranges with both ends included.

    Raises:
        UsageError: it is no such list, or names more than `most` rows.
    """
    rows: dict[int, None] = {}
    for part in given.replace(",", " ").split():
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UsageError(f"{option} holds {part!r}, which is no row or range", "write 0,5-9")
        low, high = int(first), int(last) if dash else int(first)
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
