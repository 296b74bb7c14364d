"""Every width that a configuration states, for telling a wrong one from a part's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embcalc.core.config_keys import DEEPEST, FACTORISED_KEYS, HIDDEN_KEYS, LESSER_HIDDEN_KEYS

_KEYS = frozenset((*HIDDEN_KEYS, *LESSER_HIDDEN_KEYS, *FACTORISED_KEYS, "output_embedding_size"))


def stated_widths(document: Mapping[str, Any], *, every_key: bool = False) -> frozenset[int]:
    """Widths of all parts of a model: of text, images and sound, of encoder and decoder.

    Args:
        document: config.json.
        every_key: take any whole number, for classes whose spelling is not known.
    """
    return frozenset(_widths(document, DEEPEST, every_key=every_key))


def _widths(document: Mapping[str, Any], depth: int, *, every_key: bool) -> Iterator[int]:
    for key, value in document.items():
        if isinstance(value, Mapping) and depth:
            yield from _widths(value, depth - 1, every_key=every_key)
        elif (every_key or key in _KEYS) and isinstance(value, int | float) and value == value // 1:
            yield int(value)
