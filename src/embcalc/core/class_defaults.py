"""What a model class takes for the keys that its config.json leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from embcalc.data import load


@dataclass(frozen=True, slots=True)
class SideDefault:
    """A position or token-type table that a class makes."""

    role: str
    """`position` or `token_type`."""
    key: str
    """The configuration's key that sizes it."""
    size: int
    """What the class takes for the key."""
    extra: int
    """Rows beyond the key: OPT and BART make two more."""
    narrow: bool
    """As wide as the token table where that is factorised, not as the model."""
    from_padding: bool
    """Whether positions count from the padding id + 1, as RoBERTa's do."""
    owner: str
    """The model type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassDefaults:
    """Defaults of one configuration class of transformers 5.24."""

    model_type: str
    vocab_size: int | None = None
    hidden_size: int | None = None
    tied: bool | None = None
    """None where the class has no such key: it has no output head, or delegates to a nested one."""
    special_ids: Mapping[str, int | tuple[int, ...]] = field(default_factory=dict)
    """`eos_token_id` → 2: only the ids that are not None."""
    text_type: str | None = None
    """Model type of the nested text configuration, for classes that have one."""
    text_vocab_size: int | None = None
    """Vocabulary size of that nested configuration when nothing is said about it."""
    side_tables: tuple[SideDefault, ...] = ()
    per_layer: tuple[int, int, int] | None = None
    """Rows, width for one layer, layers: Gemma 3n and Gemma 4."""


def class_defaults(model_type: str | None) -> ClassDefaults | None:
    """Look up a model type; None for an unknown one."""
    record = load("class_defaults").get(model_type) if model_type else None
    if record is None or model_type is None:
        return None
    text = record.get("text", (None, None))
    return ClassDefaults(
        model_type=model_type,
        vocab_size=record.get("vocab_size"),
        hidden_size=record.get("hidden_size"),
        tied=record.get("tied"),
        special_ids={
            name: tuple(value) if isinstance(value, list) else value
            for name, value in record.get("special_ids", {}).items()
        },
        text_type=text[0],
        text_vocab_size=text[1],
        side_tables=tuple(_side(row, model_type) for row in record.get("side_tables", ())),
        per_layer=tuple(record["per_layer"]) if "per_layer" in record else None,
    )


def _side(row: list[Any], model_type: str) -> SideDefault:
    role, key, size, extra, narrow, *rest = row
    return SideDefault(role, key, size, extra, narrow, bool(rest and rest[0]), model_type)
