"""Rows that training never touched, recognised by name; and what kind of token each row has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embcalc.core.display import byte_alphabet
from embcalc.core.vocabulary import TextForm, Vocabulary

Category = Literal["ordinary", "special", "byte", "unreachable", "undecodable", "reserved", "none"]

_PLACEHOLDER = re.compile(
    r"(?P<unused>[\[<](?:\|)?unused[_-]?(?:token)?[_-]?\d+(?:\|)?[\]>])"
    r"|(?P<reserved><\|?reserved[_-]?(?:special)?[_-]?(?:token)?[_-]?\d+\|?>)"
    r"|(?P<extra><(?:\|)?extra[_-]?(?:id)?[_-]?\d+(?:\|)?>)"
    r"|(?P<pad>\[PAD\d+\]|<pad\d+>)"
    r"|(?P<placeholder><\|?(?:placeholder|dummy|SPECIAL)[_-]?\d+\|?>)",
    re.IGNORECASE,
)
_NEVER_IN_UTF8 = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))
"""Bytes that no valid UTF-8 holds (RFC 3629, section 1)."""
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")

PAST_THE_END = "rows without a token"
IMPOSSIBLE_BYTES = "bytes that no UTF-8 holds"


@dataclass(frozen=True, slots=True)
class References:
    """Rows that training cannot have touched, by the sign that gives them away."""

    by_sign: dict[str, tuple[int, ...]]

    @property
    def rows(self) -> NDArray[np.int64]:
        """All of them, ascending."""
        everything = {row for rows in self.by_sign.values() for row in rows}
        return np.array(sorted(everything), dtype=np.int64)

    def signs(self) -> tuple[str, ...]:
        """The signs with their counts, most frequent first."""
        ordered = sorted(self.by_sign.items(), key=lambda item: -len(item[1]))
        return tuple(f"{sign} ({len(rows):,})" for sign, rows in ordered)

    def without(self, sign: str) -> References:
        """All but those of one sign."""
        return References({key: rows for key, rows in self.by_sign.items() if key != sign})


def is_placeholder(text: str) -> bool:
    """Whether a token's text marks it as reserved for later use."""
    return text[:1] in ("[", "<") and _PLACEHOLDER.fullmatch(text) is not None


def find_references(vocabulary: Vocabulary, rows: int) -> References:
    """Recognise the rows of a table `[rows, …]` that no text can have trained."""
    found: dict[str, list[int]] = {}
    signs: dict[str, str] = {}
    for token_id, text in vocabulary.texts.items():
        if not 0 <= token_id < rows:
            continue
        match = _PLACEHOLDER.fullmatch(text) if text[:1] in ("[", "<") else None
        if match and match.lastgroup:
            sign = signs.setdefault(match.lastgroup, f"names like {text}")
            found.setdefault(sign, []).append(token_id)
        elif single_byte(text, vocabulary, token_id) in _NEVER_IN_UTF8:
            found.setdefault(IMPOSSIBLE_BYTES, []).append(token_id)
    nameless = without_token(vocabulary, rows)
    if nameless:
        found[PAST_THE_END] = nameless
    return References({sign: tuple(sorted(ids)) for sign, ids in found.items()})


def without_token(vocabulary: Vocabulary, rows: int) -> list[int]:
    """Rows that no token has, holes below the last id included."""
    texts = vocabulary.texts
    return [row for row in range(rows) if row not in texts]


def single_byte(text: str, vocabulary: Vocabulary, token_id: int) -> int | None:
    """The byte that a token stands for, or None where it is no single byte."""
    if len(text) not in (1, 6) or vocabulary.base.get(text) != token_id:
        return None
    if vocabulary.form is TextForm.BYTE_LEVEL and len(text) == 1:
        return byte_alphabet().get(text)
    match = _BYTE_TOKEN.fullmatch(text)
    return int(match[1], 16) if match else None


def categories(vocabulary: Vocabulary, rows: int) -> Sequence[Category]:
    """The kind of token of every row, as far as its text tells; `none` where there is none."""
    return [_category(vocabulary, row) for row in range(rows)]


def _category(vocabulary: Vocabulary, row: int) -> Category:
    text = vocabulary.texts.get(row)
    if text is None:
        return "none"
    if is_placeholder(text):
        return "reserved"
    if row in vocabulary.special_ids:
        return "special"
    byte = single_byte(text, vocabulary, row)
    if byte is not None:
        return "byte"
    if vocabulary.form is TextForm.BYTE_LEVEL and vocabulary.base.get(text) == row:
        return "ordinary" if _decodes(text) else "undecodable"
    return "undecodable" if "�" in text else "ordinary"


def _decodes(text: str) -> bool:
    if text.isascii():
        return True
    alphabet = byte_alphabet()
    try:
        bytes(alphabet[char] for char in text).decode()
    except (KeyError, UnicodeDecodeError):
        return False
    return True
