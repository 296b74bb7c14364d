"""Tokens with the ids that a tokenizer really emits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property


class TextForm(StrEnum):
    """How the text of a token is written in the vocabulary."""

    PLAIN = "plain"
    BYTE_LEVEL = "byte-level"
    """GPT-2's alphabet, where `Ġ` is a space."""
    SENTENCEPIECE = "sentencepiece"
    """`▁` is a space, `<0x0A>` a byte."""
    WORDPIECE = "wordpiece"
    """`##` continues a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token outside the base vocabulary, or one that is declared special."""

    text: str
    id: int
    """The effective id: the one that encoding emits."""
    declared_id: int | None = None
    """The id that the file gives, where it gives one."""
    special: bool = False
    file: str | None = None


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """All tokens of one tokenizer, by effective id."""

    format: str
    """`tokenizer.json`, `vocab.txt`, `sentencepiece`, …"""
    file: str
    """The file that holds the base vocabulary, relative to the folder."""
    form: TextForm = TextForm.PLAIN
    base: Mapping[str, int] = field(repr=False)
    """Text to id, as the base vocabulary has it."""
    added: tuple[Token, ...] = ()
    """In the order in which the tokenizer takes them."""

    @cached_property
    def texts(self) -> Mapping[int, str]:
        """Effective id to text, exactly as stored. Where two texts share an id, the first wins."""
        texts: dict[int, str] = {}
        for text, token_id in self.base.items():
            texts.setdefault(token_id, text)
        for token in self.added:
            texts.setdefault(token.id, token.text)
        return texts

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Effective ids of all tokens declared special."""
        return frozenset(token.id for token in self.added if token.special)

    @property
    def base_size(self) -> int:
        """Number of texts in the base vocabulary."""
        return len(self.base)

    @cached_property
    def size(self) -> int:
        """Number of distinct texts: what `len(tokenizer)` counts."""
        return len(self.base) + len({t.text for t in self.added if t.text not in self.base})

    @cached_property
    def max_id(self) -> int:
        """Largest effective id, -1 for an empty vocabulary."""
        return max(self.texts, default=-1)

    @property
    def holes(self) -> int:
        """Ids below the largest that no token has."""
        return self.max_id + 1 - len(self.texts)

    def text(self, token_id: int) -> str | None:
        """The stored text of an id, or None."""
        return self.texts.get(token_id)
