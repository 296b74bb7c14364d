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
