"""Tokens with the ids that a tokenizer really emits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from operator import eq


class TextForm(StrEnum):
    """How the text of a base token is written; added tokens are always written plainly."""

    PLAIN = "plain"
    BYTE_LEVEL = "byte-level"
    """GPT-2's alphabet, where `Ġ` is a space."""
    SENTENCEPIECE = "sentencepiece"
    """`▁` is a space, `<0x0A>` a byte."""
    WORDPIECE = "wordpiece"
    """`##` continues a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """An added token as a file declares it."""

    text: str
    id: int | None = None
    special: bool = False
    file: str | None = None


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
    """Text to id, as the base vocabulary has it. Where a text has several ids, the one that
    encoding emits."""
    listed: Sequence[str] | None = field(default=None, repr=False)
    """Texts by id, where the format is a list in which a text may stand twice."""
    in_order: bool = False
    """Whether the base ids are known to be 0, 1, 2 … in the order of `base` (`is_in_order`): then
    the largest id, holes and shared ids follow without a look at each token."""
    added: tuple[Token, ...] = ()
    """In the order in which the tokenizer takes them."""

    @cached_property
    def texts(self) -> Mapping[int, str]:
        """Effective id to text, exactly as stored. Where two texts share an id, the first wins."""
        if self.listed is not None:
            texts = dict(enumerate(self.listed))
        else:
            texts = dict(zip(self.base.values(), self.base.keys(), strict=True))
        for token in self.added:
            texts.setdefault(token.id, token.text)
        return texts

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Effective ids of all tokens declared special."""
        return frozenset(token.id for token in self.added if token.special)

    @cached_property
    def added_ids(self) -> frozenset[int]:
        """Effective ids of all added tokens: their texts are plain, whatever `form` says."""
        return frozenset(token.id for token in self.added)

    @cached_property
    def appended(self) -> tuple[Token, ...]:
        """Added tokens whose text the base vocabulary does not have."""
        return tuple(token for token in self.added if token.text not in self.base)

    @cached_property
    def shared_ids(self) -> tuple[tuple[str, str, int], ...]:
        """Pairs of different texts on one effective id: text, the other text, id."""
        if self.in_order:
            return ()
        pairs = [
            (token.text, other, token.id)
            for token in self.appended
            if (other := self.texts[token.id]) != token.text
        ]
        if self.listed is None and len(set(self.base.values())) < len(self.base):
            last = {token_id: text for text, token_id in self.base.items()}
            pairs += [(text, last[i], i) for text, i in self.base.items() if last[i] != text]
        return tuple(pairs)

    @property
    def base_size(self) -> int:
        """Number of texts in the base vocabulary."""
        return len(self.base)

    @cached_property
    def size(self) -> int:
        """Number of distinct texts: what `len(tokenizer)` counts."""
        return len(self.base) + len({token.text for token in self.appended})

    @cached_property
    def max_id(self) -> int:
        """Largest effective id, -1 for an empty vocabulary."""
        if self.listed is not None:
            base = len(self.listed) - 1
        elif self.in_order:
            base = len(self.base) - 1
        else:
            base = max(self.base.values(), default=-1)
        return max(base, max((token.id for token in self.added), default=-1))

    @cached_property
    def holes(self) -> int:
        """Ids below the largest that no token has."""
        if self.in_order:
            return self.max_id + 1 - len(self.base) - len({token.id for token in self.appended})
        return self.max_id + 1 - len(self.texts)

    def hole_ids(self, limit: int) -> tuple[int, ...]:
        """The first `limit` ids below the largest that no token has."""
        return tuple(_take(_gaps(sorted(self.texts)), limit))

    def id(self, text: str) -> int | None:
        """The effective id of a text, or None."""
        added = self._added_by_text.get(text)
        return self.base.get(text) if added is None else added.id

    @cached_property
    def _added_by_text(self) -> Mapping[str, Token]:
        return {token.text: token for token in reversed(self.added)}

    def text(self, token_id: int) -> str | None:
        """The stored text of an id, or None."""
        return self.texts.get(token_id)


def is_in_order(base: Mapping[str, int]) -> bool:
    """Whether ids are 0, 1, 2 … in the order of the file, as they mostly are."""
    return all(map(eq, base.values(), range(len(base))))


def append_added(
    base: Mapping[str, int],
    base_count: int,
    declared: Iterable[Declared],
    taken: Sequence[Token] = (),
) -> tuple[Token, ...]:
    """Give added tokens their effective ids, as the `tokenizers` library does.

    A text of the base vocabulary keeps its id, a text added before keeps that one; any other is
    appended: the first gets `base_count`, each further one the largest appended id + 1. The
    declared id has no say. With holes in the base an appended id can meet one that is in use.

    Args:
        base: text to id.
        base_count: number of entries of the base vocabulary, duplicates included where the
            format is a list.
        declared: in the order in which the tokenizer takes them; empty texts are ignored.
        taken: tokens added before these.

    Returns:
        `taken` and one token for each distinct declared text.
    """
    tokens = {token.text: token for token in taken}
    following = max([base_count, *(t.id + 1 for t in taken if t.text not in base)])
    for item in declared:
        if not item.text:
            continue
        known = tokens.get(item.text)
        if known is not None:
            if item.id == known.declared_id == known.id and item.special == known.special:
                continue
            tokens[item.text] = _declared_again(known, item)
            continue
        token_id = base.get(item.text, following)
        following += item.text not in base
        tokens[item.text] = Token(
            text=item.text,
            id=token_id,
            declared_id=item.id,
            special=item.special,
            file=item.file,
        )
    return tuple(tokens.values())


def _declared_again(known: Token, item: Declared) -> Token:
    """A second declaration changes no id; the one that is wrong is kept, to be reported."""
    wrong = known.declared_id not in (None, known.id)
    declared = known.declared_id if wrong or item.id is None else item.id
    return Token(
        text=known.text,
        id=known.id,
        declared_id=declared,
        special=known.special or item.special,
        file=known.file if wrong or item.id in (None, known.declared_id) else item.file,
    )


def _gaps(ids: Sequence[int]) -> Iterator[int]:
    expected = 0
    for token_id in ids:
        yield from range(expected, token_id)
        expected = token_id + 1


def _take(ids: Iterator[int], limit: int) -> Iterator[int]:
    for _, token_id in zip(range(limit), ids, strict=False):
        yield token_id
