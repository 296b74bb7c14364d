"""What `embcalc presets` lists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetFacts:
    """One model by name."""

    name: str
    aliases: tuple[str, ...]
    model: str
    """As published."""
    model_type: str | None
    vocab_size: int
    hidden_size: int
    embedding_size: int
    """Width of the token table."""
    tied: bool
    positions: int
    """Rows of its position tables together; 0 for rotary and relative positions."""
    parameters: int
    counted: str
    """The class whose parameters were counted."""


@dataclass(frozen=True, slots=True)
class PresetsReport:
    """Presets, in the order of their families."""

    presets: tuple[PresetFacts, ...]
