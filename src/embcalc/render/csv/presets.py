from __future__ import annotations

from embcalc.core.reports.presets import PresetsReport
from embcalc.render.csv.document import dumps

HEADING = (
    *("name", "model", "vocab_size", "hidden_size", "embedding_size", "tied", "positions"),
    *("parameters", "counted"),
)


def render(report: PresetsReport) -> str:
    """Write a line a preset."""
    return dumps(
        HEADING,
        (
            (
                preset.name,
                preset.model,
                preset.vocab_size,
                preset.hidden_size,
                preset.embedding_size,
                preset.tied,
                preset.positions,
                preset.parameters,
                preset.counted,
            )
            for preset in report.presets
        ),
    )
