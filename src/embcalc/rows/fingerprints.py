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
    places, _ = alike(keys[rows])
    return np.sort(rows[places])


def alike(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the keys `[n]` that are there more than once.

    Each key is hashed into one word with its place behind it: sorting words takes a third of the
    time of sorting places. Of a million keys 44 bits are left of the hash, so that different keys
    are hardly ever taken for equal.

    Returns:
        Places of such keys `[m]`, equal ones side by side and ascending, and where in them each
        set of equal keys begins.
    """
    bits = np.uint64(max(1, len(keys) - 1).bit_length())
    words = keys * np.uint64(_ODD)
    words >>= bits
    words <<= bits
    words |= np.arange(len(keys), dtype=np.uint64)
    words.sort()
    hashes = words >> bits
    new = np.ones(len(keys) + 1, dtype=np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=new[1:-1])
    several = ~(new[:-1] & new[1:])
    chosen = words[several] & ((np.uint64(1) << bits) - np.uint64(1))
    return chosen.astype(np.int64), np.flatnonzero(new[:-1][several])


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
