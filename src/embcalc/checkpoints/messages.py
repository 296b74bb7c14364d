"""Words that the messages of several readers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from embcalc.core.files import File

LONGEST_NAME = 100


def where(file: File) -> str:
    """Name a file as a user can find it again."""
    return file.local_path or file.name


def shown(name: str) -> str:
    """Quote a name that a file gave, cut to a length that fits a message."""
    return repr(name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…")


def listed(names: Iterable[str], most: int = 4) -> str:
    """Join names for a sentence, the first few of many."""
    every = list(names)
    text = ", ".join(name if len(name) <= LONGEST_NAME else shown(name) for name in every[:most])
    return f"{text} and {len(every) - most:,} more" if len(every) > most else text


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
