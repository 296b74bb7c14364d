"""Texts that stand in a vocabulary file more than once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from embcalc.core.tokenizer_facts import Duplicate


def repeated_texts(texts: Sequence[str], base: Mapping[str, int]) -> tuple[Duplicate, ...]:
    """Texts that stand in a list several times, blank ones left out.

    Args:
        texts: by id.
        base: text to the id that counts.
    """
    if len(base) == len(texts):
        return ()
    ids: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        if text and base[text] != index:
            ids.setdefault(text, []).append(index)
    return tuple(Duplicate(text=text, ids=(*found, base[text])) for text, found in ids.items())


def repeated_keys(content: bytes, base: Mapping[str, int]) -> tuple[Duplicate, ...]:
    """Keys that stand in a JSON object several times: the parser kept the last, leaving a hole.

    Only where there is one is the object read a second time, slowly.

    Args:
        content: the object.
        base: the object as it was read.
    """
    if max(base.values()) + 1 == len(base):
        return ()
    pairs: list[tuple[str, int]] = json.loads(content, object_pairs_hook=list)
    if len(pairs) == len(base):
        return ()
    ids: dict[str, list[int]] = {}
    for text, token_id in pairs:
        ids.setdefault(text, []).append(token_id)
    return tuple(Duplicate(text=t, ids=tuple(i)) for t, i in ids.items() if len(set(i)) > 1)
