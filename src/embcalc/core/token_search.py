"""Finding a token by what people type: `hello`, ` hello` or `Ġhello`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from embcalc.core.vocabulary import TextForm, Vocabulary


@dataclass(frozen=True, slots=True)
class Match:
    """A token that the typed text may mean."""

    id: int
    text: str
    """As stored."""
    meaning: str
    """How the typed text was taken: `as stored`, `at the start of a word`, …"""


def matches(vocabulary: Vocabulary, typed: str) -> tuple[Match, ...]:
    """All tokens that a typed text may mean, the most literal one first.

    Args:
        vocabulary: where to look.
        typed: the stored text itself, or plain text with or without a leading space.
    """
    found: dict[int, Match] = {}
    for text, meaning in _spellings(vocabulary.form, typed):
        token = vocabulary.id(text)
        if token is not None:
            found.setdefault(token, Match(token, text, meaning))
    return tuple(found.values())


def _spellings(form: TextForm, typed: str) -> Iterator[tuple[str, str]]:
    yield typed, "as stored"
    bare = typed.removeprefix(" ")
    spaced = typed.startswith(" ")
    if form is TextForm.BYTE_LEVEL:
        yield to_byte_alphabet(typed), "without a space before it"
        yield to_byte_alphabet(" " + bare), "with a space before it"
    elif form is TextForm.SENTENCEPIECE:
        yield typed.replace(" ", "▁"), "without a space before it"
        yield "▁" + bare.replace(" ", "▁"), "with a space before it"
    elif form is TextForm.WORDPIECE:
        if spaced:
            yield bare, "at the start of a word"
        yield "##" + bare, "inside a word"


@cache
def byte_alphabet() -> tuple[str, ...]:
    """GPT-2's character for each byte: printable Latin-1 stands for itself, the rest moves up.

    Source: the `bytes_to_unicode` table of GPT-2's published encoder, which every byte-level
    vocabulary uses.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    moved = (byte for byte in range(256) if byte not in printable)
    shifted = {byte: 256 + number for number, byte in enumerate(moved)}
    return tuple(chr(shifted.get(byte, byte)) for byte in range(256))


def to_byte_alphabet(text: str) -> str:
    """Spell a text as byte-level vocabularies store it: ` hello` becomes `Ġhello`."""
    alphabet = byte_alphabet()
    return "".join(alphabet[byte] for byte in text.encode("utf-8", "surrogatepass"))
