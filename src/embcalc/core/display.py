"""Tokens as people write them."""

from __future__ import annotations

import re
from functools import lru_cache

from embcalc.core.safe_text import safe
from embcalc.core.vocabulary import TextForm, Vocabulary

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def token_text(vocabulary: Vocabulary, token_id: int) -> str | None:
    """What the token of an id stands for in text, or None where the id has no token.

    Added tokens are written plainly, whatever the form of the base vocabulary.
    """
    stored = vocabulary.text(token_id)
    if stored is None:
        return None
    if vocabulary.base.get(stored) != token_id:
        return stored
    return readable(stored, vocabulary.form)


def readable(stored: str, form: TextForm) -> str:
    r"""Decode the text of a token from the form of its vocabulary.

    `Ġhello` → ` hello`, `▁hello` → ` hello`, `<0x0A>` → a line break; bytes that are no whole
    character stay visible as `\xe4\xbd`. WordPiece's `##ing` is how people write it.
    """
    if form is TextForm.BYTE_LEVEL:
        return _from_bytes(stored)
    if form is TextForm.SENTENCEPIECE:
        byte = _BYTE_TOKEN.fullmatch(stored)
        if byte:
            return bytes([int(byte[1], 16)]).decode("utf-8", "backslashreplace")
        return stored.replace("▁", " ")
    return stored


def _from_bytes(stored: str) -> str:
    alphabet = byte_alphabet()
    try:
        raw = bytes(alphabet[char] for char in stored)
    except KeyError:
        return stored
    return raw.decode("utf-8", "backslashreplace")


@lru_cache(maxsize=1)
def byte_alphabet() -> dict[str, int]:
    """Character to byte in GPT-2's alphabet (`bytes_to_unicode` of its encoder).

    Printable Latin-1 characters stand for themselves, the other 68 bytes for 256 and up.
    """
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(256) if byte not in kept]
    return {chr(byte): byte for byte in kept} | {
        chr(256 + index): byte for index, byte in enumerate(moved)
    }


def quoted(text: str) -> str:
    """A token between quotes, so that its spaces can be seen; nothing in it acts."""
    return f'"{safe(text)}"'
