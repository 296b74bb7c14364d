"""Tokens that are bytes, written in GPT-2's alphabet so that each has a text of its own."""

from __future__ import annotations

from functools import lru_cache

from embcalc.core.display import byte_alphabet


def written(raw: bytes) -> str:
    """Bytes as the byte-level alphabet writes them: a space is `Ġ`."""
    return raw.decode("latin-1").translate(_table())


@lru_cache(maxsize=1)
def _table() -> dict[int, str]:
    return {byte: char for char, byte in byte_alphabet().items()}
