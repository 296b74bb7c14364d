"""Special token ids of a configuration, with the key that each came from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_ID_KEY = re.compile(r".*token_(?:ids?|index|indices)$")


@dataclass(frozen=True, slots=True)
class SpecialId:
    """One key that names one or several token ids."""

    name: str
    """`eos_token_id`."""
    ids: tuple[int, ...]
    """As stated, negative ones included."""
    source: str
    """`config.json:text_config.eos_token_id`, or `class default of llama`."""
    stated: bool = True
    """False for a class default."""


def special_ids(document: Mapping[str, Any], path: str) -> Iterator[SpecialId]:
    """The token ids that one mapping states itself; nulls and nested mappings are passed over.

    Args:
        document: a configuration, or a part of it.
        path: what to put before the key: `generation_config.json:`.
    """
    for key, value in document.items():
        if not isinstance(key, str) or not _ID_KEY.match(key):
            continue
        ids = tuple(value) if isinstance(value, list) else (value,)
        whole = tuple(item for item in ids if isinstance(item, int) and not isinstance(item, bool))
        if whole:
            yield SpecialId(key, whole, f"{path}{key}")
