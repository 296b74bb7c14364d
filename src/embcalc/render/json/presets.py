from __future__ import annotations

from embcalc.core.reports.presets import PresetsReport
from embcalc.render.json.document import dumps


def render(report: PresetsReport) -> str:
    """Write `embcalc/presets/v1`."""
    return dumps(
        {
            "schema": "embcalc/presets/v1",
            "presets": [
                {
                    "name": preset.name,
                    "aliases": list(preset.aliases),
                    "model": preset.model,
                    "model_type": preset.model_type,
                    "vocab_size": preset.vocab_size,
                    "hidden_size": preset.hidden_size,
                    "embedding_size": preset.embedding_size,
                    "tied": preset.tied,
                    "positions": preset.positions,
                    "parameters": preset.parameters,
                    "counted": preset.counted,
                }
                for preset in report.presets
            ],
        }
    )
