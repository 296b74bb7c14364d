"""Words that the messages of several readers share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from embcalc.core.files import File

LONGEST_NAME = 100
_NUMBER = re.compile(r"(.*?\.)(\d{1,6})(\..*)", re.DOTALL)
"""The first number between the dots of a tensor's name: its layer."""


def where(file: File) -> str:
    """Name a file as a user can find it again."""
    return file.local_path or file.name


def shown(name: str) -> str:
    """Quote a name that a file gave, cut to a length that fits a message."""
    return repr(name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…")


def listed(names: Iterable[str], most: int = 4) -> str:
    """Join names for a sentence, the first few of many."""
    return several([cut(name) for name in names], most)


def several(parts: Sequence[str], most: int = 4) -> str:
    """Join parts of a sentence, the first few of many; each is taken as it is."""
    text = ", ".join(parts[:most])
    return f"{text} and {len(parts) - most:,} more" if len(parts) > most else text


def cut(name: str) -> str:
    """A name of usual length as it is, a longer one quoted and cut."""
    return name if len(name) <= LONGEST_NAME else shown(name)


def in_ranges(names: Iterable[str], most: int = 4) -> str:
    """Join names for a sentence, layers of one name together: `layers.[4–6, 9].up.weight`."""
    groups: dict[tuple[str, str], list[int]] = {}
    for name in names:
        match = _NUMBER.match(name)
        key = (match[1], match[3]) if match else (name, "")
        groups.setdefault(key, []).extend([int(match[2])] if match else [])
    return listed((f"{a}{_ranges(sorted(n))}{b}" for (a, b), n in groups.items()), most)


def _ranges(numbers: Sequence[int]) -> str:
    if len(numbers) < 2:
        return "".join(map(str, numbers))
    starts = [n for i, n in enumerate(numbers) if not i or numbers[i - 1] != n - 1]
    ends = [n for n, after in zip(numbers, [*numbers[1:], -1], strict=True) if after != n + 1]
    each = [f"{a}–{b}" if b > a else str(a) for a, b in zip(starts, ends, strict=True)]
    return f"[{listed(each, 12)}]"


def counted(number: int, noun: str) -> str:
    """Say a number with its noun: `1 file`, `12 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def cut_short(file: File, needed: int, whole: Sequence[str], tensors: int) -> tuple[str, str]:
    """Word the message and the hint about a file that ends too early.

    Args:
        file: the file.
        needed: bytes that its header promises.
        whole: names of the tensors that lie inside of it.
        tensors: number of tensors that the header lists.
    """
    share = 100 * file.size / needed
    message = (
        f"{where(file)} is cut short: {file.size:,} of {needed:,} bytes ({share:.1f}%),"
        f" {len(whole):,} of {tensors:,} tensors are whole"
    )
    which = f" (whole: {listed(whole)})" if whole else ""
    return message, f"download it again, or check the disk that wrote it{which}"
