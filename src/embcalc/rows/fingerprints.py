"""Rows of equal bits, found by a sum of their words and verified by reading them again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.rows.access import RowSource, chosen_blocks

_NARROW = 256
"""Bytes of a row below which a plain sum would be the same for too many rows."""
_ODD = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, as Knuth's multiplicative hashing takes it."""


def bit_keys(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Sum the 64-bit words of every row, modulo 2^64: equal for rows of equal bits.

    Args:
        values: carried values `[n, columns]`.

    Returns:
        Keys `[n]`. Different rows may share a key.
    """
    rows = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    nbytes = rows.shape[1]
    for size in (8, 4, 2):
        if nbytes and nbytes % size == 0:
            words = rows.view(f"<u{size}")
            break
    else:
        words = rows
    if nbytes < _NARROW:
        places = np.arange(1, 2 * words.shape[1], 2, dtype=np.uint64) * np.uint64(_ODD)
        words = words.astype(np.uint64) * places
    keys: NDArray[np.uint64] = np.add.reduce(words, axis=1, dtype=np.uint64)
    return keys


def identical_groups(
    checkpoint: RowSource, name: str, keys: NDArray[np.uint64], left_out: NDArray[np.bool_]
) -> tuple[tuple[int, ...], ...]:
    """Groups of rows with the same bits, each ascending, ordered by first row.

    Args:
        checkpoint: where the rows can be read again.
        name: the table.
        keys: of all rows, from `bit_keys`.
        left_out: rows `[rows]` that are not compared: zero rows, rows with a NaN.
    """
    candidates = _sharing(keys, left_out)
    by_digest: dict[bytes, list[int]] = defaultdict(list)
    for row, digest in _digests(checkpoint, name, candidates):
        by_digest[digest].append(row)
    groups = (tuple(rows) for rows in by_digest.values() if len(rows) > 1)
    return tuple(sorted(groups))


def _sharing(keys: NDArray[np.uint64], left_out: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Ascending numbers of the rows whose key another row has too."""
    rows = np.flatnonzero(~left_out)
    found: NDArray[np.int64] = rows[shared(keys[rows])]
    return found


def shared(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which keys `[n]` are there more than once.

    Sorting keys takes a tenth of the time of sorting their places.
    """
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated) == 0:
        return np.zeros(len(keys), dtype=np.bool_)
    places = np.searchsorted(repeated, keys)
    found: NDArray[np.bool_] = repeated[np.minimum(places, len(repeated) - 1)] == keys
    return found


def _digests(
    checkpoint: RowSource, name: str, rows: NDArray[np.int64]
) -> Iterator[tuple[int, bytes]]:
    for numbers, values, _ in chosen_blocks(checkpoint, name, rows):
        for number, row in zip(numbers, np.ascontiguousarray(values), strict=True):
            yield int(number), blake2b(row.tobytes(), digest_size=16).digest()


def same_bits(checkpoint: RowSource, first: str, second: str) -> bool:
    """Whether two tables of one shape and dtype hold the same bits; both are read in step."""
    for block in checkpoint.blocks(first):
        here = range(block.start, block.start + len(block.values))
        others = [other.values.copy() for other in checkpoint.blocks(second, here)]
        if block.values.tobytes() != b"".join(other.tobytes() for other in others):
            return False
    return True
