"""Rows that no trained token uses: padding, reserved, added but never initialised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from embcalc.core.reports.inspect import BeyondTokenizer
from embcalc.core.vocabulary import Vocabulary
from embcalc.rows.health import Health, Mask, row_set
from embcalc.rows.kernels import Floats
from embcalc.rows.references import is_placeholder

_FEW = 0.02
"""A band of norms tells untouched rows when at most this part of the trained rows is in it."""
_FRESH_DEVIATIONS = 4.0
_MIN_PADDING = 4

Reasoned = tuple[str, Mask]


def beyond_tokenizer(
    vocabulary: Vocabulary, norms: Floats, health: Health, repeated: Mask, fresh: tuple[float, int]
) -> BeyondTokenizer:
    """Tell apart the rows of a table that training had no token for.

    Args:
        vocabulary: of the tokenizer.
        norms: of all rows `[rows]`.
        health: of the rows.
        repeated: rows `[rows]` that equal another row or nearly so.
        fresh: σ of a fresh table and its width.
    """
    rows = len(norms)
    named = np.zeros(rows, dtype=np.bool_)
    inside = [token for token in vocabulary.texts if 0 <= token < rows]
    named[inside] = True
    reserved = _mask(rows, (t for t in inside if is_placeholder(vocabulary.texts[t])))
    added = _mask(
        rows, (t.id for t in vocabulary.appended if not is_placeholder(t.text) and t.id < rows)
    )
    trained = named & ~reserved & ~added & ~health.ill
    signs = list(_signs(norms, health, repeated, ~named, trained, fresh))
    untouched = np.zeros(rows, dtype=np.bool_)
    reasons = []
    for reason, mask in signs:
        if (mask & added & ~untouched).any():
            reasons.append(reason)
            untouched |= mask & added
    return BeyondTokenizer(
        tokens=len(vocabulary.texts),
        last_id=vocabulary.max_id,
        padding=row_set(~named),
        reserved=row_set(reserved),
        uninitialised=row_set(untouched),
        uninitialised_reason="; ".join(reasons) or None,
    )


def _mask(rows: int, chosen: Iterator[int]) -> Mask:
    mask = np.zeros(rows, dtype=np.bool_)
    mask[list(chosen)] = True
    return mask


def _signs(  # noqa: PLR0913, PLR0917 - each is a different view of the same rows
    norms: Floats,
    health: Health,
    repeated: Mask,
    padding: Mask,
    trained: Mask,
    fresh: tuple[float, int],
) -> Iterator[Reasoned]:
    """Masks `[rows]` of rows that look untouched, each with the reason."""
    yield "zero or near zero", health.zero | health.near_zero
    yield "equal to another row, or nearly", repeated
    usable = norms[padding & np.isfinite(norms)]
    if len(usable) >= _MIN_PADDING:
        low, high = np.percentile(usable, (1, 99))
        if _tells_apart(norms, trained, low * 0.98, high * 1.02):
            yield "a norm like the padding rows'", (norms >= low * 0.98) & (norms <= high * 1.02)
    sigma, width = fresh
    # The norm of a row of N(0, σ²) has mean σ√d and standard deviation σ/√2.
    middle, reach = sigma * width**0.5, _FRESH_DEVIATIONS * sigma / 2**0.5
    if _tells_apart(norms, trained, middle - reach, middle + reach):
        mask = (norms >= middle - reach) & (norms <= middle + reach)
        yield f"a norm like fresh rows of N(0, {sigma:g}²)", mask


def _tells_apart(norms: Floats, trained: Mask, low: float, high: float) -> bool:
    known: NDArray[np.float64] = norms[trained]
    if len(known) == 0:
        return False
    return bool(((known >= low) & (known <= high)).mean() <= _FEW)


def groups_mask(rows: int, groups: Sequence[Sequence[int]]) -> Mask:
    """Rows `[rows]` that are in any group."""
    return _mask(rows, (row for group in groups for row in group))
