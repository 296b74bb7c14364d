"""Which tokens fill up a batch, as far as a tokenizer says so by itself."""

from __future__ import annotations

from collections.abc import Iterable

from embcalc.core.tokenizer_facts import EmittedId
from embcalc.core.vocabulary import Vocabulary

PAD_TEXTS = ("<pad>", "[PAD]", "<|pad|>", "PAD")
"""Names of padding tokens that need no file to say so."""


def padding_ids(vocabulary: Vocabulary | None, emitted: Iterable[EmittedId] = ()) -> frozenset[int]:
    """Ids of padding by their names, and those that a tokenizer.json pads with."""
    ids = {one.id for one in emitted if one.where == "padding.pad_id"}
    if vocabulary is not None:
        named = (vocabulary.id(text) for text in PAD_TEXTS)
        ids.update(token for token in named if token is not None)
    return frozenset(ids)
