"""Ids and texts in messages: few enough to read, with the number of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from embcalc.core.vocabulary import Token

SHOWN = 8
"""Items that a message names one by one."""
KEPT_IDS = 1000
"""Ids that a finding carries."""
_TEXT = 40


def quoted(text: str) -> str:
    """A token's text in quotes, cut to 40 characters."""
    return repr(text if len(text) <= _TEXT else text[: _TEXT - 1] + "…")


def listed(items: Sequence[str], total: int | None = None) -> str:
    """`a, b, c and 12 more`."""
    total = len(items) if total is None else total
    shown = items[:SHOWN]
    rest = total - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest > 0 else "")


def token_list(tokens: Sequence[Token], total: int | None = None) -> str:
    """Ids and texts: `'<pad>' (32000, special), 'x' (32001)`; `total` counts those not given."""
    return listed([_token(token) for token in tokens[:SHOWN]], total or len(tokens))


def _token(token: Token) -> str:
    return f"{quoted(token.text)} ({token.id}{', special' if token.special else ''})"


def id_list(ids: Iterable[int]) -> tuple[int, ...]:
    """The ids of a finding: ascending, distinct, at most 1,000."""
    return tuple(sorted(set(ids))[:KEPT_IDS])


def count(number: int, noun: str) -> str:
    """`1 token`, `2 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
