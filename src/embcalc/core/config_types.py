"""Values of a configuration that are of another type than every loader wants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embcalc.core.class_defaults import class_defaults
from embcalc.core.config_keys import HIDDEN_KEYS, VOCABULARY_KEYS, Level
from embcalc.core.findings import Severity

ID_KEYS = tuple(
    f"{purpose}_token_id"
    for purpose in ("bos", "eos", "pad", "unk", "sep", "cls", "mask", "decoder_start")
)
"""Special ids of every class; other keys that end so may hold anything."""
_POSITIONS = "max_position_embeddings"


def note_wrong_types(chain: Sequence[Level]) -> None:
    """Note the values that no size or flag is read from, but that loading breaks on.

    Sizes and flags are noted where they are read. Values beyond any doubt only: an id that is a
    text, a null where the class has a number of its own.
    """
    for level in chain:
        if not isinstance(level.document.get("model_type"), str | None):
            level.refuse("model_type", ", not a text")
        if not _are_texts(level.document.get("architectures")):
            level.refuse("architectures", ", not a list of texts", Severity.WARNING)
        if not isinstance(level.document.get("text_config"), Mapping | None):
            level.refuse("text_config", ", not an object")
        if not _is_number(level.document.get(_POSITIONS)):
            level.refuse(_POSITIONS, ", not a whole number")
        note_wrong_ids(level)
    for key in _nulls(chain[-1]):
        chain[-1].refuse(key, ", not a whole number")


def note_wrong_ids(level: Level) -> None:
    """Note special ids that are no whole numbers, or lists with something else in them."""
    for key in ID_KEYS:
        value = level.document.get(key)
        ids = value if isinstance(value, list) else [value]
        if not isinstance(value, Mapping) and not all(_is_id(item) for item in ids):
            level.refuse(key, ", not a token id")


def _nulls(text: Level) -> Iterator[str]:
    """Sizes that are null although the class has a default, which the null switches off."""
    defaults = class_defaults(text.model_type)
    if defaults is None:
        return
    for keys, default in (
        (VOCABULARY_KEYS, defaults.vocab_size),
        (HIDDEN_KEYS, defaults.hidden_size),
    ):
        stated = any(text.document.get(key) is not None for key in keys)
        if default and not stated and keys[0] in text.document:
            yield keys[0]


def _is_id(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _is_number(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return _is_id(value) or (isinstance(value, float) and value.is_integer())


def _are_texts(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return value is None or (
        isinstance(value, list) and all(isinstance(name, str) for name in value)
    )
