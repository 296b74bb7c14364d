"""Models by name: published configurations with the totals of their classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from embcalc.core.config import parse_config
from embcalc.core.layer import Layer
from embcalc.core.layer_sources import layer_of_config
from embcalc.data import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A published model."""

    name: str
    """The published name in lower case, without organisation and `-hf`."""
    aliases: tuple[str, ...]
    model: str
    """Organisation and name, as published."""
    config: Mapping[str, Any]
    """The keys of its config.json that concern the embedding layer."""
    parameters: int
    """All parameters, a tied matrix once."""
    counted: str
    """How the parameters were counted."""


def presets() -> tuple[Preset, ...]:
    """All presets, by name."""
    return tuple(_preset(name, record) for name, record in load("presets").items())


def _preset(name: str, record: Mapping[str, Any]) -> Preset:
    return Preset(
        name=name,
        aliases=tuple(record.get("aliases", ())),
        model=record["model"],
        config=record["config"],
        parameters=record["parameters"],
        counted=record["counted"],
    )


def names() -> list[str]:
    """Names of all presets, aliases left out."""
    return list(load("presets"))


def find_preset(name: str) -> Preset | None:
    """A preset by name or alias, in any case; `-hf` at the end does not matter."""
    wanted = _plain(name)
    records = load("presets")
    if wanted in records:
        return _preset(wanted, records[wanted])
    for known, record in records.items():
        if wanted in record.get("aliases", ()):
            return _preset(known, record)
    return None


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").removesuffix("-hf")


def layer_of_preset(preset: Preset) -> Layer:
    """The embedding layer of a preset."""
    layer = layer_of_config(parse_config(preset.config), preset.name)
    return replace(
        layer,
        source="preset",
        tied_source="preset",
        tied_from=preset.model,
        model_total=preset.parameters,
        notes=(
            f"sizes as published for {preset.model}; parameters counted with {preset.counted}",
            *(
                note
                for note in layer.notes
                if not note.startswith(("vocabulary size from", "model type"))
            ),
        ),
    )


def matching(found: Iterable[Preset], words: Iterable[str]) -> tuple[Preset, ...]:
    """The presets whose names hold every word."""
    wanted = [word.lower() for word in words]
    return tuple(
        preset
        for preset in found
        if all(
            any(word in text.lower() for text in (preset.name, preset.model, *preset.aliases))
            for word in wanted
        )
    )
