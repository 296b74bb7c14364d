"""The models that `estimate` knows by name."""

from __future__ import annotations

from collections.abc import Sequence

from embcalc.core.presets import Preset, layer_of_preset, matching
from embcalc.core.presets import presets as all_presets
from embcalc.core.reports.presets import PresetFacts, PresetsReport
from embcalc.core.tables import Role
from embcalc.errors import UsageError


def presets(words: Sequence[str] = ()) -> PresetsReport:
    """List presets.

    Args:
        words: all of them must be in a preset's name, alias or published name; none lists all.

    Raises:
        UsageError: nothing matches.
    """
    found = matching(all_presets(), words)
    if not found:
        raise UsageError(
            f"no preset matches {' '.join(words)[:60]!r}", hint="'embcalc presets' lists all"
        )
    return PresetsReport(tuple(_facts(preset) for preset in found))


def _facts(preset: Preset) -> PresetFacts:
    layer = layer_of_preset(preset)
    return PresetFacts(
        name=preset.name,
        aliases=preset.aliases,
        model=preset.model,
        model_type=preset.config.get("model_type"),
        vocab_size=layer.vocab_size,
        hidden_size=layer.hidden_size,
        embedding_size=layer.tokens[0][1],
        tied=bool(layer.tied),
        positions=sum(table.rows for table in layer.sides if table.role is Role.POSITION),
        parameters=preset.parameters,
        counted=preset.counted,
    )
