"""Rows past the last token: rounding, reserve, or tokens that were lost."""

from __future__ import annotations

MULTIPLES = (8, 16, 32, 64, 128, 256, 512)
"""Roundings that training frameworks use."""
PARALLEL = (2, 4, 8, 16)
"""Tensor-parallel sizes that multiply a rounding."""
LARGE_SHARE = 0.05
"""Beyond this share of the table no rounding is believed."""
_FAIRSEQ = frozenset({"m2m_100", "nllb", "nllb-moe", "xglm", "mbart", "speech_to_text"})


def next_multiple(count: int, multiple: int) -> int:
    """The smallest multiple that is at least `count`."""
    return -(-count // multiple) * multiple


def rounding(rows: int, used: int, model_type: str | None = None) -> str | None:
    """Explain why a table has more rows than ids, in a phrase; None where nothing does.

    Accepted are the next multiple of 8, 16, … 512, those times a tensor-parallel size, any
    multiple of 64 where the ids themselves fill none (slots reserved before the rounding), round
    decimal numbers, and the few spare words of fairseq's dictionaries.

    Args:
        rows: of the table.
        used: largest id + 1.
        model_type: of the config; fairseq models carry up to 8 spare rows.
    """
    spare = rows - used
    plain = next((m for m in MULTIPLES if next_multiple(used, m) == rows), None)
    if plain and (plain <= 64 or spare <= LARGE_SHARE * rows):
        return f"rounded up to a multiple of {_largest_power(rows, plain)}"
    if spare > LARGE_SHARE * rows:
        return None
    parallel = {m * p for m in MULTIPLES for p in PARALLEL}
    found = next((m for m in sorted(parallel) if next_multiple(used, m) == rows), None)
    if found:
        return f"rounded up to a multiple of {found}"
    return _reserve(rows, used, model_type)


def _reserve(rows: int, used: int, model_type: str | None) -> str | None:
    if rows % 64 == 0 and used % 64:
        return f"rounded to a multiple of {_largest_power(rows, 64)}, with reserved slots"
    if rows % 100 == 0:
        return "a round number"
    if model_type in _FAIRSEQ and rows - used <= 8:
        return "spare words of the dictionary it was trained with"
    return None


def _largest_power(rows: int, at_least: int) -> int:
    """The largest customary multiple that divides `rows`."""
    return max((m for m in MULTIPLES if rows % m == 0), default=at_least)
