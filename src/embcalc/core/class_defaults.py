"""What a model class takes for the keys that its config.json leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from embcalc.data import load


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
    )
